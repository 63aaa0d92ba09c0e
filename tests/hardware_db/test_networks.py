"""Networks between nodes, and how the usual one is chosen."""

from __future__ import annotations

import pytest

from hardware_db import UnknownName, accelerator, network_for, networks


def test_every_network_has_a_source_and_belongs_to_known_accelerators():
    for network in networks():
        assert network.source
        assert network.confidence
        for sku in network.sku_ids:
            assert accelerator(sku).sku_id == sku


def test_no_machine_is_listed_twice():
    keys = [(net.provider, net.instance_type, net.sku_ids) for net in networks()]
    assert len(set(keys)) == len(keys)


def test_rates_are_one_way_bytes_and_add_up():
    for net in networks():
        rate, node = net.device_bytes_per_second, net.node_bytes_per_second
        if net.kind != "scale-out" or rate is None:
            continue
        assert 1e8 <= rate <= 1.2e11, net.instance_type  # 1 Gbit/s to 800 Gbit/s, in bytes
        if node is not None and net.devices_per_node:
            assert rate * net.devices_per_node == pytest.approx(node, rel=0.01), net.instance_type


def test_network_cards_add_up_to_the_node_where_all_serve_it():
    for net in networks():
        per_nic, node = net.bytes_per_second_per_nic, net.node_bytes_per_second
        if net.kind == "scale-out" and net.nic_count and per_nic and node and net.rdma:
            assert net.nic_count * per_nic == pytest.approx(node, rel=0.01), net.instance_type


@pytest.mark.parametrize(
    ("sku", "gbit", "per_node"),
    [
        ("h100-sxm5-80gb", 400, 8),
        ("a100-sxm4-80gb", 200, 8),
        ("a100-sxm4-40gb", 200, 8),
        ("b200-sxm6-180gb", 400, 8),
        ("gb200-nvl72-186gb", 400, 4),
        ("h100-sxm5-96gb", 400, 8),
        ("trainium2", 200, 16),
    ],
)
def test_the_usual_network_of_a_part(sku: str, gbit: float, per_node: int):
    net = network_for(sku)
    assert net is not None
    assert net.device_bytes_per_second == pytest.approx(gbit * 1e9 / 8)
    assert net.devices_per_node == per_node


def test_a_provider_a_machine_or_a_fabric_names_the_network():
    slow, fast = network_for("h100-sxm5-80gb", "a3-highgpu-8g"), network_for("H100-SXM", "GCP")
    assert slow is not None
    assert fast is not None
    assert slow.device_bytes_per_second == pytest.approx(12.5e9)
    assert fast.instance_type == "a3-megagpu-8g"
    efa = network_for("a100-sxm4-40gb", "efa v1")
    assert efa is not None
    assert efa.instance_type == "p4d.24xlarge"


def test_no_network_is_invented():
    assert network_for("rtx-3090") is None
    assert network_for("rtx-4090", "aws") is None
    with pytest.raises(UnknownName, match=r"network: 'token ring'"):
        network_for("h100-sxm5-80gb", "token ring")
