"""What is timed: each module builds kernels with known FLOP, bytes and a check against FP64."""
