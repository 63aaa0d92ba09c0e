"""What is not collected where torch, an extra, is absent: modules that import it at their top."""

from importlib.util import find_spec

NEEDS_TORCH = ("steps", "resnet", "recorder")  # they run in the traced process only

collect_ignore = (
    [] if find_spec("torch") else [f"planner/tracing/{name}.py" for name in NEEDS_TORCH]
)
