"""Facts about accelerators, networks, prices and grids: our own data files and typed access.

Every figure has a source; None is unknown; all units are SI unless the name says otherwise.
README.md beside this file explains the columns. Names are loaded when they are first used, so
that a question about one accelerator does not pay for prices and grids.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hardware_db._accelerator import Accelerator, Achievable, Link
    from hardware_db._catalogue import accelerator, accelerators, resolve
    from hardware_db._facility import Figure, figures, pue
    from hardware_db._formats import FORMATS, Support
    from hardware_db._grids import Grid, grid, grids
    from hardware_db._money import Amount, convert
    from hardware_db._names import Match
    from hardware_db._networks import Network, network_for, networks
    from hardware_db._prices import Price, Provider, price_for, prices, providers
    from hardware_db._purchases import PurchasePrice, purchase_price, purchase_prices
    from hardware_db._sanity import PriceFlag, check_price, price_limits
    from hardware_db.errors import AmbiguousName, HardwareError, MissingRate, UnknownName

__all__ = [
    "FORMATS",
    "Accelerator",
    "Achievable",
    "AmbiguousName",
    "Amount",
    "Figure",
    "Grid",
    "HardwareError",
    "Link",
    "Match",
    "MissingRate",
    "Network",
    "Price",
    "PriceFlag",
    "Provider",
    "PurchasePrice",
    "Support",
    "UnknownName",
    "accelerator",
    "accelerators",
    "check_price",
    "convert",
    "figures",
    "grid",
    "grids",
    "network_for",
    "networks",
    "price_for",
    "price_limits",
    "prices",
    "providers",
    "pue",
    "purchase_price",
    "purchase_prices",
    "resolve",
]

_HOMES = {
    "_accelerator": ("Accelerator", "Achievable", "Link"),
    "_catalogue": ("accelerator", "accelerators", "resolve"),
    "_facility": ("Figure", "figures", "pue"),
    "_formats": ("FORMATS", "Support"),
    "_grids": ("Grid", "grid", "grids"),
    "_money": ("Amount", "convert"),
    "_names": ("Match",),
    "_networks": ("Network", "network_for", "networks"),
    "_prices": ("Price", "Provider", "price_for", "prices", "providers"),
    "_purchases": ("PurchasePrice", "purchase_price", "purchase_prices"),
    "_sanity": ("PriceFlag", "check_price", "price_limits"),
    "errors": ("AmbiguousName", "HardwareError", "MissingRate", "UnknownName"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
