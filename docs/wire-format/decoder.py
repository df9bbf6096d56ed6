"""Opens every test vector of Overheard's wire format, compares it, and encodes it again.

Usage: python3 decoder.py wire-format-vectors.json
"""
from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from typing import Callable

import chunks
import frames
import groups
import headers
import noise
import short
import streams
import units
import compressed_block
from octets import Malformed
from units import Value


def inputs(_: bytes, given: Value) -> Value:
    """Of a format that only derives bytes from inputs, nothing is read."""
    return given


def read_literals(data: bytes, _: Value) -> Value:
    return {"literals": compressed_block.expand(data).hex()}


@dataclass(frozen=True)
class Format:
    """How a format is read, and how it is written where one value has one form."""

    read: Callable[[bytes, Value], Value]
    write: Callable[[Value], bytes] | None


FORMATS: dict[str, Format] = {
    "varint": Format(units.read_varint, units.write_varint),
    "unit": Format(units.read_datagram, units.write_datagram),
    "hello": Format(units.read_hello, units.write_hello),
    "sealed": Format(units.read_sealed, units.write_sealed),
    "challenge": Format(units.read_challenge, units.write_challenge),
    "handshake": Format(noise.read_handshake, noise.write_handshake),
    "initiation with a cookie": Format(inputs, noise.write_cookie_initiation),
    "pair": Format(inputs, noise.write_pair_key),
    "packet mac": Format(inputs, units.write_packet_mac),
    "digest": Format(inputs, units.write_digest),
    "group unit": Format(units.read_group_unit, units.write_group_unit),
    "membership": Format(groups.read_membership, groups.write_membership),
    "other group": Format(groups.read_other_group, groups.write_other_group),
    "chunks": Format(chunks.read_chunks, None),
    "header delta": Format(headers.read_header_delta, None),
    "literals": Format(read_literals, None),
    "derive": Format(inputs, units.write_derive),
    "preshared key": Format(inputs, units.write_preshared_key),
    "reset token": Format(inputs, units.write_reset_token),
    "cookie mark": Format(inputs, units.write_cookie_mark),
    "plaintext": Format(frames.read_plaintext, frames.write_plaintext),
    "receipt": Format(frames.read_receipt, frames.write_receipt),
    "request": Format(frames.read_request, frames.write_request),
    "reduced": Format(frames.read_reduced, frames.write_reduced),
    "hashed": Format(frames.read_hashed, frames.write_hashed),
    "short": Format(frames.read_short, frames.write_short),
    "short packet": Format(short.read_short_packet, None),
    "coded": Format(frames.read_coded, frames.write_coded),
    "repair": Format(frames.read_repair, frames.write_repair),
    "repair sum": Format(inputs, frames.write_repair_sum),
    "stream open": Format(streams.read_stream_open, streams.write_stream_open),
    "stream data": Format(streams.read_stream_data, streams.write_stream_data),
    "stream end": Format(streams.read_stream_offset, streams.write_stream_offset),
    "stream credit": Format(streams.read_stream_offset, streams.write_stream_offset),
    "stream abort": Format(streams.read_stream_abort, streams.write_stream_abort),
    "stream stored": Format(streams.read_stream_stored, streams.write_stream_stored),
    "store bounds": Format(frames.read_store_bounds, frames.write_store_bounds),
    "record": Format(streams.read_record, streams.write_record),
    "notice": Format(frames.read_notice, frames.write_notice),
    "heard": Format(frames.read_heard, frames.write_heard),
    "heard of other": Format(frames.read_heard_of_other, frames.write_heard_of_other),
    "slots": Format(groups.read_slots, groups.write_slots),
    "shared": Format(groups.read_shared, groups.write_shared),
    "joined": Format(groups.read_joined, groups.write_joined),
    "chunk request": Format(groups.read_chunk_request, groups.write_chunk_request),
    "chunk reply": Format(groups.read_chunk_reply, groups.write_chunk_reply),
    "natives": Format(groups.read_natives, groups.write_natives),
    "neighbour": Format(groups.read_neighbour, groups.write_neighbour),
}


def says(opened: object, expected: object) -> bool:
    """Whether what was read has all that is expected; a vector may leave fields out."""
    if isinstance(expected, dict):
        return isinstance(opened, dict) and all(says(opened.get(key), expected[key]) for key in expected)
    if isinstance(expected, list):
        return isinstance(opened, list) and len(opened) == len(expected) and all(map(says, opened, expected))
    return opened == expected


@dataclass
class Count:
    vectors: int = 0
    refused: int = 0
    opened: int = 0
    written: int = 0
    writes: bool = True

    def differs(self) -> bool:
        is_read = self.opened + self.refused == self.vectors
        return not is_read or self.writes and self.written < self.opened


def check(vector: Value, count: Count) -> None:
    count.vectors += 1
    data, value = bytes.fromhex(vector["hex"]), vector["value"]
    name = f"{vector['format']}: {vector['about']}"
    if vector["format"] not in FORMATS:
        print(f"{name}: no decoder", file=sys.stderr)
        return
    form = FORMATS[vector["format"]]
    try:
        opened = form.read(data, value or {})
    except (Malformed, LookupError, ValueError) as error:
        if value is None and isinstance(error, Malformed):
            count.refused += 1
        else:
            print(f"{name}: {error!r}", file=sys.stderr)
        return
    if value is None:
        print(f"{name}: opened as {opened}", file=sys.stderr)
        return
    wrong = {key: opened.get(key) for key in value if not says(opened.get(key), value[key])}
    if wrong:
        print(f"{name}: {wrong}", file=sys.stderr)
    else:
        count.opened += 1
    if form.write is None:
        count.writes = False
    elif (written := form.write(opened)) == data:
        count.written += 1
    else:
        print(f"{name}: encoded as {written.hex()}", file=sys.stderr)


def main(path: str) -> int:
    with open(path, encoding="utf-8") as file:
        vectors = json.load(file)
    counts: dict[str, Count] = defaultdict(Count)
    for vector in vectors:
        check(vector, counts[vector["format"]])
    print(f"{'format':<24} {'vectors':>7} {'refused':>7} {'opened':>7} {'encoded again':>14}")
    for name, count in sorted(counts.items()):
        written = str(count.written) if count.writes else "-"
        print(f"{name:<24} {count.vectors:>7} {count.refused:>7} {count.opened:>7} {written:>14}")
    return 1 if any(count.differs() for count in counts.values()) else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
