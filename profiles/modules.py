"""A training step of a module that a file makes: `path/to/file.py:function`."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any

from profiles.device import Device
from profiles.errors import ProfileError
from profiles.training import TrainingStep, training_step


def is_module_name(name: str) -> bool:
    """Whether a model is named as a file and a function in it.

    >>> is_module_name("models/unet.py:small"), is_module_name("gpt2-124m")
    (True, False)
    """
    path, _, function = name.rpartition(":")
    return path.endswith(".py") and function.isidentifier()


def make_module(name: str) -> Any:
    """Run the function of a file that the user names and return the torch module that it makes.

    The file is executed in this process, as `python FILE` would do: only measure what you trust.
    """
    path, _, function = name.rpartition(":")
    if not Path(path).is_file():
        raise ProfileError("--model", name, f"there is no file {path}")
    spec = importlib.util.spec_from_file_location("profiled_module", path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        made = getattr(module, function)()
    except AttributeError as error:
        raise ProfileError("--model", name, f"{error}") from error
    except Exception as error:
        remedy = f"it fails with {type(error).__name__}: {error}"
        raise ProfileError("--model", name, remedy[:300]) from error
    if not hasattr(made, "parameters") or not hasattr(made, "train"):
        remedy = f"its function returns {type(made).__name__}, not a torch module"
        raise ProfileError("--model", name, remedy)
    return made


def parameter_count(model: Any) -> int:
    """Trainable and frozen parameters, each tensor once however often it is used.

    >>> import torch
    >>> layer = torch.nn.Linear(2, 2)
    >>> parameter_count(torch.nn.Sequential(layer, layer))
    6
    """
    return sum(each.numel() for each in model.parameters())


def module_step(
    model: Any, device: Device, *, micro_batch: int, input_shape: tuple[int, ...], **settings: Any
) -> TrainingStep:
    """Steps on random inputs of `input_shape` a sample.

    An output of (batch, classes) is trained by cross-entropy on random classes, any other by mean
    squares towards zero.
    """
    torch = device.torch
    if not input_shape or math.prod(input_shape) < 1:
        raise ProfileError("--input-shape", input_shape, "write sizes such as 3,224,224")

    dtype = torch.bfloat16 if settings.get("precision") == "pure-bf16" else torch.float32

    def batch() -> tuple[Any, Any]:
        return torch.randn(micro_batch, *input_shape, device=device.label, dtype=dtype), None

    def loss_of(output: Any, _: Any) -> Any:
        if output.dim() == 2 and output.shape[1] > 1:
            classes = torch.randint(output.shape[1], (len(output),), device=output.device)
            return torch.nn.functional.cross_entropy(output, classes)
        return output.float().square().mean()

    return training_step(model, batch, loss_of, device, **settings)
