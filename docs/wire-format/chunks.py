"""Where payloads are cut into chunks, and by which slot and tag a chunk is known."""
from __future__ import annotations

from typing import Any

from hashes import WORD, highway, rapidhash

Value = dict[str, Any]
MIN_BYTES = 64
MAX_BYTES = 256
MASK = 0xFC00


def gear_numbers() -> list[int]:
    numbers, state = [], 0
    for _ in range(256):
        state = state + 0x9E3779B97F4A7C15 & WORD
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & WORD
        z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
        numbers.append(z ^ z >> 31)
    return numbers


GEAR = gear_numbers()


def first_chunk(text: bytes) -> int:
    """The length of the chunk at the front of the text."""
    if len(text) < 2 * MIN_BYTES:
        return len(text)
    reach = len(text) if len(text) <= MAX_BYTES else min(MAX_BYTES, len(text) - MIN_BYTES)
    total = 0
    for at in range(MIN_BYTES - 16, reach):
        total = 2 * total + GEAR[text[at]] & WORD
        if at + 1 >= MIN_BYTES and total & MASK == 0:
            return at + 1 if len(text) - at - 1 >= MIN_BYTES else len(text)
    return reach if len(text) - reach >= MIN_BYTES else len(text)


def address_secrets(address_key: bytes) -> list[int]:
    return [highway(address_key, b"overheard 1 slots" + bytes([label])) for label in range(8)]


def read_chunks(text: bytes, given: Value) -> Value:
    seed, *secrets = address_secrets(bytes.fromhex(given["address_key"]))
    chunks, rest = [], text
    while rest:
        length = first_chunk(rest)
        name = rapidhash(seed, secrets, rest[:length])
        chunks.append([length, name & (1 << given["slot_bits"]) - 1, name >> 32])
        rest = rest[length:]
    return given | {"text": text.hex(), "chunks": chunks}
