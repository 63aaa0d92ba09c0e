"""A torch module as a table of operations: traced on fake tensors, in a process of its own.

Only `child` and what it imports know torch; the planner reads the table that comes back.
"""
