"""Reading and writing of the numbers that every format is made of."""
from __future__ import annotations


class Malformed(Exception):
    """The bytes are not of the format."""


def require(condition: bool, rule: str) -> None:
    if not condition:
        raise Malformed(rule)


class Reader:
    """A position in bytes; every method moves it forward, or raises `Malformed`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if count > self.left():
            raise Malformed(f"{count} bytes expected, {self.left()} left")
        self._at += count
        return self._data[self._at - count:self._at]

    def peek(self) -> bytes:
        """All that is left, which stays."""
        return self._data[self._at:]

    def rest(self) -> bytes:
        return self.take(self.left())

    def number(self, bits: int) -> int:
        return int.from_bytes(self.take(bits // 8), "big")

    def varint(self) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = self.number(8)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >= 1 << 32:
                    raise Malformed("a varint of more than 32 bits")
                return value
        raise Malformed("a varint of more than 5 bytes")

    def end(self) -> None:
        if self.left():
            raise Malformed(f"{self.left()} bytes left")


def number(value: int, bits: int) -> bytes:
    return value.to_bytes(bits // 8, "big")


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fold(value: int) -> int:
    """The varint of a signed number: 0, -1, 1, -2 ... become 0, 1, 2, 3 ..."""
    return 2 * value if value >= 0 else -2 * value - 1


def unfold(value: int) -> int:
    return value // 2 if value % 2 == 0 else -(value + 1) // 2


def bits_of(bitmap: bytes) -> list[int]:
    """Which bits are set, from bit 0 of byte 0, rising."""
    return [bit for bit in range(8 * len(bitmap)) if bitmap[bit // 8] >> bit % 8 & 1]


def bitmap_of(bits: list[int]) -> bytes:
    bitmap = bytearray(max(bits, default=-1) // 8 + 1)
    for bit in bits:
        bitmap[bit // 8] |= 1 << bit % 8
    return bytes(bitmap)
