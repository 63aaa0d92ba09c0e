"""ResNet-50 as a torch module, to be traced: He et al. 2015, table 1, with the stride of a
downsampling block on its 3x3 convolution ("v1.5"), as the published training times have it."""

from __future__ import annotations

import torch
from torch import nn

STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))  # width of the narrow convolutions, blocks
EXPANSION = 4  # channels that a block gives for each of its width
CLASSES = 1000


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 convolutions beside a shortcut; torchvision counts the same 25,557,032."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * EXPANSION
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity() if inputs == outputs else _projection(inputs, outputs, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.norm1(self.conv1(x)))
        y = self.relu(self.norm2(self.conv2(y)))
        y = self.norm3(self.conv3(y))
        y += self.shortcut(x)
        return self.relu(y)  # type: ignore[no-any-return]


def _projection(inputs: int, outputs: int, stride: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


def resnet50() -> nn.Module:
    """The network with its classifier, for images of any size from 32 on."""
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, padding=3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, padding=1),
    ]
    channels = 64
    for stage, (width, blocks) in enumerate(STAGES):
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, 2 if stage and not block else 1))
            channels = width * EXPANSION
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES)]
    return nn.Sequential(*layers, *head)


def loss(output: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
    """Cross-entropy on one class: which one makes no difference to the work."""
    classes = torch.zeros(len(output), dtype=torch.long, device=output.device)
    return nn.functional.cross_entropy(output, classes)
