"""The keyed hashes: HighwayHash-64 of packets, and rapidhash V3 of chunks."""
from __future__ import annotations

WORD = (1 << 64) - 1
HALF = (1 << 32) - 1
MUL0 = (0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3)
MUL1 = (0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377)


def words(data: bytes) -> list[int]:
    """Little-endian words of 64 bits."""
    return [int.from_bytes(data[at:at + 8], "little") for at in range(0, len(data), 8)]


def swapped(word: int) -> int:
    return word >> 32 | (word & HALF) << 32


def zipper(high: int, low: int) -> tuple[int, int]:
    """The two words with their bytes in HighwayHash's order: what is added to the low and to the high word."""
    picks = ((3, 12, 2, 5, 14, 1, 15, 0), (11, 4, 10, 13, 9, 6, 8, 7))
    octets = low.to_bytes(8, "little") + high.to_bytes(8, "little")
    of_low, of_high = (int.from_bytes(bytes(octets[at] for at in pick), "little") for pick in picks)
    return of_low, of_high


class Highway:
    """HighwayHash's state."""

    def __init__(self, key: bytes) -> None:
        key_words = words(key)
        self._mul0, self._mul1 = list(MUL0), list(MUL1)
        self._v0 = [mul ^ word for mul, word in zip(MUL0, key_words)]
        self._v1 = [mul ^ swapped(word) for mul, word in zip(MUL1, key_words)]

    def _update(self, lanes: list[int]) -> None:
        v0, v1, mul0, mul1 = self._v0, self._v1, self._mul0, self._mul1
        for at in range(4):
            v1[at] = v1[at] + mul0[at] + lanes[at] & WORD
            mul0[at] ^= (v1[at] & HALF) * (v0[at] >> 32)
            v0[at] = v0[at] + mul1[at] & WORD
            mul1[at] ^= (v0[at] & HALF) * (v1[at] >> 32)
        for source, target in ((v1, v0), (v0, v1)):
            for at in (0, 2):
                low, high = zipper(source[at + 1], source[at])
                target[at] = target[at] + low & WORD
                target[at + 1] = target[at + 1] + high & WORD

    def hash(self, data: bytes) -> int:
        whole = len(data) & ~31
        for at in range(0, whole, 32):
            self._update(words(data[at:at + 32]))
        if len(data) > whole:
            self._remainder(data[whole:])
        for _ in range(4):
            self._update([swapped(self._v0[at]) for at in (2, 3, 0, 1)])
        return self._v0[0] + self._v1[0] + self._mul0[0] + self._mul1[0] & WORD

    def _remainder(self, rest: bytes) -> None:
        count = len(rest)
        self._v0 = [word + (count << 32) + count & WORD for word in self._v0]
        turn = lambda half: (half << count | half >> 32 - count) & HALF
        self._v1 = [turn(word & HALF) | turn(word >> 32) << 32 for word in self._v1]
        packet = bytearray(rest[:count & ~3].ljust(32, b"\0"))
        tail = rest[count & ~3:]
        if count & 16:
            packet[28:32] = rest[-4:]
        elif tail:
            packet[16:19] = bytes([tail[0], tail[len(tail) >> 1], tail[-1]])
        self._update(words(bytes(packet)))


def highway(key: bytes, data: bytes) -> int:
    return Highway(key).hash(data)


def mix(one: int, other: int) -> int:
    product = one * other
    return product & WORD ^ product >> 64


def rapidhash(seed: int, secrets: list[int], data: bytes) -> int:
    """rapidhash V3 of up to 2^64 bytes; the seed is taken as it is."""
    if len(data) <= 16:
        rest = data
        if len(data) >= 4:
            seed ^= len(data)
            width = 8 if len(data) >= 8 else 4
            a, b = (int.from_bytes(part, "little") for part in (data[:width], data[-width:]))
        elif data:
            a, b = data[0] << 45 | data[-1], data[len(data) >> 1]
        else:
            a, b = 0, 0
    else:
        seed, rest = rapidhash_blocks(seed, secrets, data)
        steps = ((0, 2), (16, 2), (32, 1), (48, 1), (64, 2), (80, 1))
        for at, secret in steps:
            if len(rest) > at + 16:
                low, high = words(rest[at:at + 16])
                seed = mix(low ^ secrets[secret], high ^ seed)
        a, b = words(data[-16:])
        a ^= len(rest)
    product = (a ^ secrets[1]) * (b ^ seed)
    return mix(product & WORD ^ 0xAAAAAAAAAAAAAAAA, product >> 64 ^ secrets[1] ^ len(rest))


def rapidhash_blocks(seed: int, secrets: list[int], data: bytes) -> tuple[int, bytes]:
    """The seed behind all blocks of 112 bytes that others follow, and the rest."""
    if len(data) <= 112:
        return seed, data
    lanes = [seed] * 7
    while len(data) > 112:
        block = words(data[:112])
        lanes = [mix(block[2 * at] ^ secrets[at], block[2 * at + 1] ^ lanes[at]) for at in range(7)]
        data = data[112:]
    seed = 0
    for lane in lanes:
        seed ^= lane
    return seed, data
