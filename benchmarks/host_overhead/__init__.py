"""What one transformer layer costs the host, by software style, measured on tiny tensors."""
