"""Measures as scripts pack them: a map of MessagePack from names to numbers, and nothing else."""

from __future__ import annotations

from struct import Struct

_NUMBERS = {
    0xCA: Struct(">f"),
    0xCB: Struct(">d"),
    0xCC: Struct(">B"),
    0xCD: Struct(">H"),
    0xCE: Struct(">I"),
    0xCF: Struct(">Q"),
}
_LENGTHS = {0xD9: Struct(">B"), 0xDA: Struct(">H"), 0xDE: Struct(">H")}


def measures_of(packed: bytes) -> dict[str, float]:
    """The measures of a task."""
    left, at = _length(packed, 0, 0x80, 0x0F)
    found: dict[str, float] = {}
    for _ in range(left):
        size, at = _length(packed, at, 0xA0, 0x1F)
        name = packed[at : at + size].decode()
        found[name], at = _number(packed, at + size)
    return found


def _length(packed: bytes, at: int, short: int, mask: int) -> tuple[int, int]:
    """How long a map or a text is, and where it begins; the length of a short one is in its first byte."""
    kind = packed[at]
    if kind & ~mask == short:
        return kind & mask, at + 1
    length = _LENGTHS[kind]
    return length.unpack_from(packed, at + 1)[0], at + 1 + length.size


def _number(packed: bytes, at: int) -> tuple[float, int]:
    kind = packed[at]
    if kind < 0x80:
        return float(kind), at + 1
    number = _NUMBERS[kind]
    return float(number.unpack_from(packed, at + 1)[0]), at + 1 + number.size
