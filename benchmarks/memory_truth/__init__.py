"""Peak memory of training steps, traced from torch itself without an accelerator.

Plain torch modules run two training steps on fake tensors (shapes and formats, no data). Every
storage that an operation creates is followed until it is freed, so the peak and what is alive at
it are exact for what torch allocates; workspaces inside kernels are not seen.
`python -m benchmarks.memory_truth` writes the table, `... formulas` tests the closed forms.
"""
