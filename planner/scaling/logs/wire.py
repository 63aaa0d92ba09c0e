"""The little of the protocol-buffer and record formats that event files need."""

from __future__ import annotations

from collections.abc import Iterator

_POLYNOMIAL = 0x82F63B78  # CRC-32C, reflected
_MASK = 0xA282EAD8  # added to a rotated checksum, so that checksums of checksums are safe


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()


def masked_checksum(data: bytes) -> int:
    """CRC-32C of `data`, rotated and offset as record files store it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and raw values of a message; stops at the first damaged field.

    >>> list(fields(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69])))
    [(1, 150), (2, b'hi')]
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(message, at)
            yield number, value
            continue
        size = {1: 8, 5: 4}.get(wire)
        if wire == 2:
            size, at = _varint(message, at)
        if size is None or at + size > len(message):
            return
        yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """The integer at `at` and where it ends; the end of the message ends it too."""
    value = shift = 0
    while at < len(message) and shift < 70:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    return value, at
