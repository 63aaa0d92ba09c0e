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


WORD = "no function"


def lazy():
    return nn.LazyLinear(3)


def on_cuda():
    return nn.Linear(3, 3).to("cuda")


def nothing():
    return nn.Linear(3, 0, bias=False)


class MuteError(Exception):
    def __str__(self):
        raise ValueError


def mute():
    raise MuteError
