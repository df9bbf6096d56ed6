"""Frames between two nodes: plaintexts, receipts, reduced and short packets, repairs, notices."""
from __future__ import annotations

from ipaddress import ip_address
from typing import Any

from octets import Reader, bits_of, bitmap_of, fold, number, require, unfold, varint
import headers

Value = dict[str, Any]
STATES = ["missing", "held", "parked", "untold"]
BOUNDS = ["wishes", "uses", "keeps"]


def read_plaintext(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    sequence = reader.number(24)
    frames = []
    while reader.left():
        first = reader.number(8)
        body = reader.rest() if first & 0x80 else reader.take(reader.varint())
        frames.append({"type": first & 0x7F, "body": body.hex()})
    return {"sequence": sequence, "frames": frames, "ends": bool(frames) and bool(first & 0x80)}


def write_plaintext(value: Value) -> bytes:
    out = number(value["sequence"], 24)
    for index, frame in enumerate(value["frames"]):
        body = bytes.fromhex(frame["body"])
        ends = value["ends"] and index + 1 == len(value["frames"])
        out += bytes([frame["type"] | (0x80 if ends else 0)])
        out += body if ends else varint(len(body)) + body
    return out


def read_receipt(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    value: Value = {"newest": reader.number(24), "generation": reader.number(8), "received": reader.number(32),
                    "delay_64us": reader.varint(), "settled": reader.varint(), "runs": []}
    require(reader.left() <= 512, "at most 512 bytes of runs")
    while reader.left():
        run = reader.varint()
        require(run >= 4, "no run is empty")
        value["runs"].append([run // 4, STATES[run % 4]])
    require(sum(length for length, _ in value["runs"]) <= 65536, "at most 65,536 sequences")
    return value


def write_receipt(value: Value) -> bytes:
    out = number(value["newest"], 24) + number(value["generation"], 8) + number(value["received"], 32)
    out += varint(value["delay_64us"]) + varint(value["settled"])
    return out + b"".join(varint(4 * length + STATES.index(state)) for length, state in value["runs"])


def read_store_bounds(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    value: Value = {"number": reader.varint(), "seen": reader.varint()}
    require(value["number"] > 0, "the first number is 1")
    value["packets"] = {name: reader.varint() for name in BOUNDS}
    value["records"] = {name: reader.varint() for name in BOUNDS} if reader.left() else None
    return value


def write_store_bounds(value: Value) -> bytes:
    out = varint(value["number"]) + varint(value["seen"])
    bounds = [value["packets"]] + ([value["records"]] if value["records"] else [])
    return out + b"".join(varint(it[name]) for it in bounds for name in BOUNDS)


def read_request(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    sequences = []
    while reader.left():
        sequences.append(reader.number(24))
    require(1 <= len(sequences) <= 64, "1 to 64 sequences")
    return {"sequences": sequences}


def write_request(value: Value) -> bytes:
    return b"".join(number(sequence, 24) for sequence in value["sequences"])


def read_regions(reader: Reader) -> list[list[int]]:
    regions = [[reader.varint() for _ in range(4)] for _ in range(reader.varint())]
    require(all(distance and length for _, distance, _, length in regions), "distance and length are at least 1")
    return regions


def write_regions(regions: list[list[int]]) -> bytes:
    return varint(len(regions)) + b"".join(varint(field) for region in regions for field in region)


def read_reduced(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    generation, mac, regions = reader.number(8), reader.take(8), read_regions(reader)
    literals = reader.rest()
    require(sum(region[0] for region in regions) <= len(literals), "the literals of all regions are there")
    restored_bytes = len(literals) + sum(region[3] for region in regions)
    require(restored_bytes <= 65535, "a restored packet has at most 65,535 bytes")
    return {"generation": generation, "mac": mac.hex(), "regions": regions, "literals": literals.hex(),
            "restored_bytes": restored_bytes}


def write_reduced(value: Value) -> bytes:
    return (number(value["generation"], 8) + bytes.fromhex(value["mac"]) + write_regions(value["regions"])
            + bytes.fromhex(value["literals"]))


def read_hashed(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    chunks = [[reader.varint(), reader.varint(), reader.take(20).hex()] for _ in range(reader.varint())]
    literals = reader.rest()
    return {"chunks": chunks, "literals": literals.hex(),
            "restored_bytes": len(literals) + sum(chunk[1] for chunk in chunks)}


def write_hashed(value: Value) -> bytes:
    out = varint(len(value["chunks"]))
    for before, length, name in value["chunks"]:
        out += varint(before) + varint(length) + bytes.fromhex(name)
    return out + bytes.fromhex(value["literals"])


def read_short(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    first = reader.number(8)
    value: Value = {"generation_low": first >> 3, "compressed": bool(first & 4), "mac": None, "regions": None,
                    "header_distance": None, "delta": None}
    if first & 1:
        value["mac"] = reader.take(8).hex()
    if first & 2:
        value["header_distance"], value["delta"] = reader.varint(), headers.pass_over(reader).hex()
    if first & 1:
        value["regions"] = read_regions(reader)
    value["literals"] = reader.rest().hex()
    return value


def write_short(value: Value) -> bytes:
    regions, delta = value["regions"], value["delta"]
    what = (regions is not None) | (delta is not None) << 1 | value["compressed"] << 2
    out = bytes([value["generation_low"] << 3 | what])
    if regions is not None:
        out += bytes.fromhex(value["mac"])
    if delta is not None:
        out += varint(value["header_distance"]) + bytes.fromhex(delta)
    if regions is not None:
        out += write_regions(regions)
    return out + bytes.fromhex(value["literals"])


def read_coded(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    value: Value = {"digest": reader.take(8).hex()}
    others, header_bytes = reader.number(8), reader.varint()
    require(others & 0x7F <= 15 and header_bytes <= 160, "at most 15 others, and 160 bytes of headers")
    value["header"] = reader.take(header_bytes).hex()
    value["offsets"] = [unfold(reader.varint()) for _ in range(others & 0x7F)]
    if others & 0x80:
        value["scales"] = list(reader.take(1 + (others & 0x7F)))
        require(0 not in value["scales"], "no scale is 0")
    value["payload"] = reader.rest().hex()
    return value


def write_coded(value: Value) -> bytes:
    header, scales = bytes.fromhex(value["header"]), value.get("scales")
    out = bytes.fromhex(value["digest"]) + bytes([len(value["offsets"]) | (0x80 if scales else 0)])
    out += varint(len(header)) + header + b"".join(varint(fold(offset)) for offset in value["offsets"])
    return out + bytes(scales or []) + bytes.fromhex(value["payload"])


def read_repair(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    first = reader.number(8)
    span = (first & 0x7F) + 1
    marks = [True] * span
    if first & 0x80:
        bitmap = reader.take((span + 7) // 8)
        marks = [bool(bitmap[back // 8] >> back % 8 & 1) for back in range(span)]
        require(marks[0], "bit 0 is set")
    return {"sources_back": [back for back in range(span) if marks[back]], "sum": reader.rest().hex()}


def write_repair(value: Value) -> bytes:
    backs = value["sources_back"]
    span = backs[-1] + 1
    if len(backs) == span:
        return bytes([span - 1]) + bytes.fromhex(value["sum"])
    bitmap = bytearray((span + 7) // 8)
    for back in backs:
        bitmap[back // 8] |= 1 << back % 8
    return bytes([span - 1 | 0x80]) + bytes(bitmap) + bytes.fromhex(value["sum"])


def factor_of(counter: int, source: int) -> int:
    whole = (1 << 64) - 1
    x = (counter * 0x9E3779B97F4A7C15 & whole) ^ source
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & whole
    x = (x ^ x >> 27) * 0x94D049BB133111EB & whole
    return (x ^ x >> 31) % 255 + 1


def times(one: int, other: int) -> int:
    """The product in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1."""
    product = 0
    while other:
        if other & 1:
            product ^= one
        one, other = one << 1, other >> 1
        if one & 0x100:
            one ^= 0x11D
    return product


def write_repair_sum(value: Value) -> bytes:
    total = bytearray()
    for source in value["sources"]:
        data = bytes.fromhex(source["frames"]) + b"\1"
        total.extend(bytes(max(0, len(data) - len(total))))
        scale = factor_of(value["counter"], source["number"])
        for at, byte in enumerate(data):
            total[at] ^= times(scale, byte)
    return bytes(total)


def read_notice(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    family = reader.number(8)
    require(family in (4, 6), "the family is 4 or 6")
    hosts = [ip_address(reader.take(4 if family == 4 else 16)) for _ in range(2)]
    ends = [f"{host}:{reader.number(16)}" if family == 4 else f"[{host}]:{reader.number(16)}" for host in hosts]
    stretches = []
    while reader.left():
        stretches.append([reader.number(32), reader.varint()])
    require(len(stretches) <= 16 and all(length for _, length in stretches), "at most 16 stretches, none empty")
    return {"source": ends[0], "destination": ends[1], "stretches": stretches}


def write_notice(value: Value) -> bytes:
    ends = [value[end].rsplit(":", 1) for end in ("source", "destination")]
    hosts = [ip_address(host.strip("[]")) for host, _ in ends]
    out = bytes([hosts[0].version]) + b"".join(host.packed for host in hosts)
    out += b"".join(number(int(port), 16) for _, port in ends)
    return out + b"".join(number(first, 32) + varint(length) for first, length in value["stretches"])


def read_heard(data: bytes, _: Value) -> Value:
    value = read_heard_bitmap(Reader(data))
    return {"newest": value["newest"], "back": bits_of(bytes.fromhex(value["bitmap"]))[::-1]}


def read_heard_bitmap(reader: Reader) -> Value:
    newest = reader.number(24)
    require(1 <= reader.left() <= 32, "a bitmap of 1 to 32 bytes")
    return {"newest": newest, "bitmap": reader.rest().hex()}


def write_heard(value: Value) -> bytes:
    return number(value["newest"], 24) + bitmap_of(value["back"])


def read_heard_of_other(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    return {"key_id": reader.number(24)} | read_heard_bitmap(reader)


def write_heard_of_other(value: Value) -> bytes:
    return number(value["key_id"], 24) + number(value["newest"], 24) + bytes.fromhex(value["bitmap"])
