"""Torch modules to plan: `forerun model examples/modules.py:unet --input-shape 3,128,128`."""

from itertools import pairwise

import torch
from torch import nn


def mlp() -> nn.Module:
    """Four wide layers on 784 numbers a sample."""
    widths = (784, 2048, 2048, 2048, 10)
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Double(nn.Sequential):
    """Two 3x3 convolutions, each normalised."""

    def __init__(self, inputs: int, outputs: int) -> None:
        layers: list[nn.Module] = []
        for channels in (inputs, outputs):
            layers += [
                nn.Conv2d(channels, outputs, 3, padding=1, bias=False),
                nn.BatchNorm2d(outputs),
                nn.ReLU(inplace=True),
            ]
        super().__init__(*layers)


class UNet(nn.Module):
    """Ronneberger et al. 2015 with padded convolutions: down, and up beside the skips."""

    def __init__(self, widths: tuple[int, ...] = (32, 64, 128, 256), classes: int = 2) -> None:
        super().__init__()
        pairs = list(pairwise(widths))
        self.first = Double(3, widths[0])
        self.pool = nn.MaxPool2d(2)
        self.down = nn.ModuleList(Double(narrow, wide) for narrow, wide in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(w, n, 2, stride=2) for n, w in pairs[::-1])
        self.join = nn.ModuleList(Double(2 * narrow, narrow) for narrow, _ in pairs[::-1])
        self.out = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = [self.first(x)]
        for down in self.down:
            kept.append(down(self.pool(kept[-1])))
        y = kept.pop()
        for up, join in zip(self.up, self.join, strict=True):
            y = join(torch.cat([kept.pop(), up(y)], 1))
        return self.out(y)


def unet() -> nn.Module:
    """For images of any side that 8 divides."""
    return UNet()
