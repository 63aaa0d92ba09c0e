"""The command line: one module per command, imported when its command is chosen.

A command module has `HELP`, `configure(parser)` and `run(args) -> int` (the exit status), and a
line in `planner.cli.commands`. `--json` is given to every command by the frame.
"""
