"""Frames of streams: bytes of TCP connections that end on both sides of the hop, and records of these."""
from __future__ import annotations

import ipaddress
from typing import Any

from octets import Malformed, Reader, number, require, varint

Value = dict[str, Any]


def read_name(reader: Reader) -> Value:
    name = reader.varint()
    return {"number": name >> 1, "own": bool(name & 1)}


def write_name(value: Value) -> bytes:
    return varint(value["number"] << 1 | value["own"])


def whole(reader: Reader, value: Value) -> Value:
    require(not reader.left(), "the body ends here")
    return value


def read_stream_open(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    value = read_name(reader)
    version = reader.number(8)
    if version not in (4, 6):
        raise Malformed("addresses are of version 4 or 6")
    for end in ("source", "destination"):
        address = ipaddress.ip_address(reader.take(4 if version == 4 else 16))
        value[end] = [str(address), reader.number(16)]
    return whole(reader, value)


def write_stream_open(value: Value) -> bytes:
    ends = [(ipaddress.ip_address(value[end][0]), value[end][1]) for end in ("source", "destination")]
    out = write_name(value) + bytes([ends[0][0].version])
    return out + b"".join(address.packed + number(port, 16) for address, port in ends)


def read_stream_data(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    return read_name(reader) | {"offset": reader.number(32), "bytes": reader.rest().hex()}


def write_stream_data(value: Value) -> bytes:
    return write_name(value) + number(value["offset"], 32) + bytes.fromhex(value["bytes"])


def read_stream_offset(data: bytes, _: Value) -> Value:
    """The body of an end or of a credit."""
    reader = Reader(data)
    return whole(reader, read_name(reader) | {"offset": reader.number(32)})


def write_stream_offset(value: Value) -> bytes:
    return write_name(value) + number(value["offset"], 32)


def read_stream_abort(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    return whole(reader, read_name(reader) | {"cause": reader.number(8)})


def write_stream_abort(value: Value) -> bytes:
    return write_name(value) + bytes([value["cause"]])


def read_stream_stored(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    return whole(reader, {"first": reader.number(32), "count": reader.varint()})


def write_stream_stored(value: Value) -> bytes:
    return number(value["first"], 32) + varint(value["count"])


STORED, REGIONS, COMPRESSED = 1, 2, 4
MOST_REST_BYTES = 16_388


def read_record(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    parts, rest = reader.number(8), reader.number(16)
    require(parts < 8, "the parts are known")
    require(rest <= MOST_REST_BYTES and rest == len(data) - 3, "the record ends here")
    value = {"stored": bool(parts & STORED), "compressed": bool(parts & COMPRESSED), "number": 0, "regions": None}
    if parts & (STORED | REGIONS):
        value["number"] = reader.number(32)
    if parts & REGIONS:
        mac = reader.take(8)
        before = reader.left()
        for _ in range(4 * reader.varint()):
            reader.varint()
        regions = data[len(data) - before : len(data) - reader.left()]
        value["regions"] = {"mac": mac.hex(), "regions": regions.hex()}
    value["literals"] = reader.rest().hex()
    return value


def write_record(value: Value) -> bytes:
    regions = value["regions"]
    parts = STORED * value["stored"] | REGIONS * (regions is not None) | COMPRESSED * value["compressed"]
    rest = number(value["number"], 32) if parts & (STORED | REGIONS) else b""
    if regions:
        rest += bytes.fromhex(regions["mac"] + regions["regions"])
    rest += bytes.fromhex(value["literals"])
    return bytes([parts]) + number(len(rest), 16) + rest
