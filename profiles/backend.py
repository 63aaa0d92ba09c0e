"""Torch, which everything that measures needs and nothing that reads a profile does."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from profiles.errors import ProfileError

REMEDY = "measuring needs it: pip install -c constraints.txt -e '.[profile]' in forerun's folder"


def torch_module() -> ModuleType:
    """The torch module. Raises ProfileError where it is not installed or does not load."""
    if importlib.util.find_spec("torch") is None:
        raise ProfileError("torch", None, REMEDY)
    try:
        import torch
    except (ImportError, OSError) as error:
        raise ProfileError("torch", str(error), f"installed but does not load; {REMEDY}") from error
    return torch
