"""Functions that no table can come of."""

from torch import nn


def hungry():
    return bytearray(1 << 45)


def broken():
    raise ValueError("no weights here\nand more")


def number():
    return 3


def untrained():
    return nn.ReLU()


class _Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x) if x.sum() > 0 else -self.layer(x)


def branch():
    return _Branch()


class _Pairs(_Branch):
    def forward(self, x):
        y = self.layer(x)
        return (y @ y.T).mean()


def pairs():
    return _Pairs()


class _Several(_Branch):
    def forward(self, x):
        return {"loss": self.layer(x)}


def several():
    return _Several()
