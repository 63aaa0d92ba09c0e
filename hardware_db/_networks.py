"""The networks between nodes: what a machine of each provider and each vendor's design has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from hardware_db._catalogue import accelerator
from hardware_db._choice import known_word
from hardware_db._tables import BITS_PER_BYTE, GIGA, Row, flag, integer, number, rows, words

_REFERENCE_DESIGNS = ("nvidia", "amd", "intel", "huawei")  # providers that are the vendor itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A row of networks.csv. All rates are one way."""

    provider: str
    instance_type: str
    sku_ids: tuple[str, ...]  # empty: not tied to an accelerator
    kind: str  # scale-out | scale-up (a TPU slice) | host-link (a reference rate)
    devices_per_node: int | None
    fabric: str
    nic_count: int | None
    bytes_per_second_per_nic: float | None
    node_bytes_per_second: float | None
    device_bytes_per_second: float | None  # share of one accelerator when all of them send
    rdma: bool | None
    intra_node: str
    as_of: str
    confidence: str
    source: str
    note: str

    @property
    def from_memory(self) -> bool:
        """Whether the rate rests on nobody's document."""
        return "memory" in self.confidence


@cache
def networks() -> tuple[Network, ...]:
    """Every network in the table, in its order."""
    return tuple(_network(row) for row in rows("networks"))


def network_for(sku: str, provider: str | None = None) -> Network | None:
    """The usual network between nodes of this accelerator, None where none is known.

    With a provider, a machine type or a fabric by name: the fastest such with the most
    accelerators in a node. Without: the vendor's own reference design; else, among the providers'
    RDMA machines with the most accelerators, the rate that most of them have (the slower on a
    tie); else the best without RDMA. Raises UnknownName, field `network`, for a name no row has.

    >>> network_for("h100-sxm5-80gb").device_bytes_per_second
    50000000000.0
    >>> network_for("h100-sxm5-80gb", "gcp").instance_type
    'a3-megagpu-8g'
    """
    sku_id = accelerator(sku).sku_id
    fitting = _between_nodes_of(sku_id)
    if provider is not None:
        wanted = known_word("network", provider, _names())
        return _fastest([net for net in fitting if wanted in _names_of(net)])
    reference = [net for net in fitting if net.provider in _REFERENCE_DESIGNS]
    return _fastest(reference) or _usual(_largest(fitting))


@cache
def _between_nodes_of(sku_id: str) -> tuple[Network, ...]:
    return tuple(net for net in networks() if net.kind == "scale-out" and sku_id in net.sku_ids)


@cache
def _names() -> tuple[str, ...]:
    return tuple(name for net in networks() for name in _names_of(net))


def _names_of(network: Network) -> tuple[str, str, str]:
    return network.provider, network.instance_type, network.fabric


def _fastest(found: Sequence[Network]) -> Network | None:
    return max(_largest(found), key=lambda net: net.device_bytes_per_second or 0.0, default=None)


def _largest(found: Sequence[Network]) -> list[Network]:
    most = max((net.devices_per_node or 1 for net in found), default=1)
    return [net for net in found if (net.devices_per_node or 1) == most]


def _usual(found: Sequence[Network]) -> Network | None:
    pool = [net for net in found if net.rdma] or found
    rates = Counter(net.device_bytes_per_second or 0.0 for net in pool)
    return max(
        pool,
        key=lambda net: (
            rates[net.device_bytes_per_second or 0.0],
            -(net.device_bytes_per_second or 0.0),
        ),
        default=None,
    )


def _network(row: Row) -> Network:
    gbit = GIGA / BITS_PER_BYTE
    return Network(
        provider=row["provider"],
        instance_type=row["instance_type"],
        sku_ids=words(row["sku_id"]),
        kind=row["kind"],
        devices_per_node=integer(row["devices_per_node"]),
        fabric=row["fabric"],
        nic_count=integer(row["nic_count"]),
        bytes_per_second_per_nic=number(row["gbit_per_s_per_nic"], gbit),
        node_bytes_per_second=number(row["node_oneway_gbit_per_s"], gbit),
        device_bytes_per_second=number(row["device_oneway_gbit_per_s"], gbit),
        rdma=flag(row["rdma"]),
        intra_node=row["intra_node"],
        as_of=row["as_of"],
        confidence=row["confidence"],
        source=row["source"],
        note=row["note"],
    )
