"""Modules whose counts a person can write down."""

import torch
from torch import nn


def mlp():
    """8 to 16 to 4, biases: 8·16 + 16 + 16·4 + 4 parameters."""
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


class UNet(nn.Module):
    """Two levels: convolutions down, one up again beside the skip connection."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 4, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.middle = nn.Conv2d(4, 8, 3, padding=1)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.out = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        skip = self.down(x).relu()
        y = self.middle(self.pool(skip)).relu()
        return self.out(torch.cat([skip, self.up(y)], 1))


def unet():
    return UNet()


def depthwise():
    return nn.Conv2d(16, 16, 3, padding=1, groups=16, bias=False)


class Attention(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.qkv, self.causal = nn.Linear(32, 96, bias=False), causal

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(2, (3, 2, 16)).permute(2, 0, 3, 1, 4)
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)


def attention():
    return Attention(causal=False)


def causal_attention():
    return Attention(causal=True)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8, bias=False)
        self.second = nn.Linear(8, 8, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x))


def tied():
    return Tied()


def frozen():
    module = mlp()
    module[0].requires_grad_(False)
    return module


def blocks():
    layer = [nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)) for _ in range(4)]
    return nn.ModuleDict({"all": _Stack(layer)})["all"]


class _Block(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


class _Stack(nn.Sequential):
    def __init__(self, layers):
        super().__init__(*[_Block(each) for each in layers])


def rated():
    """A constructor that reads a value, as stochastic depth does."""
    rates = [each.item() for each in torch.linspace(0, 0.1, 2)]
    return nn.Sequential(nn.Linear(8, 8), nn.Dropout(rates[1]), nn.Linear(8, 8))


class Block(nn.Module):
    """A unit of several layers, with dropout, which recomputation runs again."""

    def __init__(self):
        super().__init__()
        self.wide, self.drop, self.out = nn.Linear(8, 32), nn.Dropout(0.1), nn.Linear(32, 8)

    def forward(self, x):
        return x + self.out(self.drop(self.wide(x)))


def dropped_blocks():
    return nn.Sequential(Block(), Block())


def encoder():
    """Torch's own layer, whose attention drops out too: 2 heads of 16."""
    return nn.Sequential(nn.TransformerEncoderLayer(32, 2, 64, batch_first=True))


def converted():
    """Tied weights, moved and converted as scripts do: 8·8 parameters."""
    tied = Tied()
    return tied.to("cpu").double().to(torch.float32)
