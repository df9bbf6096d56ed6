"""Frames of groups and between gateways: shared packets, slots, chunks, natives, neighbours."""
from __future__ import annotations

from typing import Any

from octets import Malformed, Reader, bits_of, bitmap_of, number, require, varint

Value = dict[str, Any]
PACKETS = (1, 2, 3, 15, 35)


def read_slots_shim(reader: Reader) -> Value:
    first = reader.number(8)
    bits = (first & 15) + 14
    require(bits <= 24, "slots have 14 to 24 bits")
    count = first >> 5
    if count == 7:
        count = reader.varint()
    mac = reader.take(8).hex() if first & 16 else None
    runs = []
    for _ in range(count):
        before, slots = reader.varint(), reader.varint()
        parts = reader.number(8) if slots & 1 else 0
        runs.append(run := [before, slots >> 1, parts & 15, parts >> 4])
        check_run(run, bool(slots & 1))
    total = sum(run[1] for run in runs)
    packed = int.from_bytes(reader.take((total * bits + 7) // 8), "little")
    require(packed >> total * bits == 0, "padding is 0")
    slots = [packed >> index * bits & (1 << bits) - 1 for index in range(total)]
    return {"slot_bits": bits, "mac": mac, "runs": runs, "slots": slots}


def check_run(run: list[int], says_parts: bool) -> None:
    _, slots, end, beginning = run
    require(slots >= 1, "a run has at least one chunk")
    require(end < 8 and beginning < 8, "parts are below 8")
    require(says_parts == bool(end or beginning), "parts stand where they are not 0")
    require(not (slots == 1 and end and beginning), "a run of one chunk has at most one part")


def write_slots_shim(value: Value) -> bytes:
    bits, runs = value["slot_bits"], value["runs"]
    mac = bytes.fromhex(value["mac"] or "")
    out = bytes([bits - 14 | (16 if mac else 0) | min(len(runs), 7) << 5])
    if len(runs) >= 7:
        out += varint(len(runs))
    out += mac
    for before, slots, end, beginning in runs:
        parts = end or beginning
        out += varint(before) + varint(2 * slots + bool(parts))
        if parts:
            out += bytes([end | beginning << 4])
    packed = sum(slot << index * bits for index, slot in enumerate(value["slots"]))
    return out + packed.to_bytes((len(value["slots"]) * bits + 7) // 8, "little")


def read_slots(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    value = read_slots_shim(reader)
    require(sum(run[0] for run in value["runs"]) <= reader.left(), "the literals of all runs are there")
    return value | {"literals": reader.rest().hex()}


def write_slots(value: Value) -> bytes:
    return write_slots_shim(value) + bytes.fromhex(value["literals"])


def read_shared(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    shared_number, frame = reader.number(24), reader.number(8)
    require(frame & 0x7F in PACKETS, "a shared frame has a packet's")
    return {"number": shared_number, "frame": frame & 0x7F, "compressed": bool(frame & 0x80),
            "front": reader.take(reader.varint()).hex(), "rest": reader.rest().hex()}


def write_shared(value: Value) -> bytes:
    front = bytes.fromhex(value["front"])
    out = number(value["number"], 24) + bytes([value["frame"] | value["compressed"] << 7])
    return out + varint(len(front)) + front + bytes.fromhex(value["rest"])


def read_joined(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    value = {"key_id": reader.number(24), "slot_bits": reader.number(8), "keeps_cache": bool(reader.number(8))}
    reader.end()
    return value


def write_joined(value: Value) -> bytes:
    return number(value["key_id"], 24) + bytes([value["slot_bits"], value["keeps_cache"]])


KEYS = ("traffic_key", "address_key", "mac_key")


def read_membership(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    value: Value = {"member": reader.number(8), "slot_bits": reader.number(8), "key_id": reader.number(24)}
    value |= {name: reader.take(32).hex() for name in KEYS}
    reader.end()
    return value


def write_membership(value: Value) -> bytes:
    keys = b"".join(bytes.fromhex(value[name]) for name in KEYS)
    return bytes([value["member"], value["slot_bits"]]) + number(value["key_id"], 24) + keys


def read_other_group(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    return {"key_id": reader.number(24), "traffic_key": reader.take(32).hex()}


def write_other_group(value: Value) -> bytes:
    return number(value["key_id"], 24) + bytes.fromhex(value["traffic_key"])


def read_chunk_request(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    value = {"number": reader.number(24)}
    bitmap = reader.rest()
    require(len(bitmap) <= 64 and bitmap[-1:] > b"\0", "a bitmap of at most 64 bytes, the last of them not 0")
    return value | {"missing": bits_of(bitmap)}


def write_chunk_request(value: Value) -> bytes:
    return number(value["number"], 24) + bitmap_of(value["missing"])


def read_chunk_reply(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    value: Value = {"number": reader.number(24), "chunks": []}
    while reader.left():
        value["chunks"].append(reader.take(reader.number(8) + 1).hex())
    return value


def write_chunk_reply(value: Value) -> bytes:
    chunks = [bytes.fromhex(chunk) for chunk in value["chunks"]]
    return number(value["number"], 24) + b"".join(bytes([len(chunk) - 1]) + chunk for chunk in chunks)


def read_natives(data: bytes, given: Value) -> Value:
    """A unit of natives from its link sequence on; the first one's member stands before, and is given."""
    reader = Reader(data)
    sequence = reader.number(24)
    if reader.number(8) != 34 | 0x80:
        raise Malformed("not a frame of natives to the end of its unit")
    components: list[Value] = []
    require(2 <= (count := reader.number(8)) <= 4, "2 to 4 components")
    for index in range(count):
        member = reader.number(8) if index else given["components"][0]["member"] if given else 3
        component: Value = {"member": member, "sequence": reader.number(24) if index else sequence,
                            "from": reader.number(8), "its_sequence": reader.number(24)}
        what = reader.number(8)
        require(what & 63 in PACKETS, "a native is of a packet's frame")
        component["overheard"] = [reader.number(24), reader.number(24)] if what & 128 else None
        component |= {"frame": what & 63, "number": reader.number(24), "front": reader.take(reader.varint()).hex(),
                      "bytes": reader.varint(), "removed": bool(what & 64)}
        if what & 64:
            component["shim"] = read_slots_shim(reader)
            require(bool(component["shim"]["slots"]), "something was removed")
            component["left_out"] = [reader.varint() for _ in component["shim"]["runs"]]
        components.append(component)
    require(len({component["member"] for component in components}) == count, "each component has another member")
    macs = [reader.take(8).hex() for _ in components[1:]]
    xor = reader.rest()
    require(len(xor) == max(component["bytes"] for component in components), "the XOR is as long as the longest")
    return {"components": components, "macs": macs, "xor": xor.hex()}


def write_natives(value: Value) -> bytes:
    components = value["components"]
    out = number(components[0]["sequence"], 24) + bytes([34 | 0x80, len(components)])
    for index, component in enumerate(components):
        if index:
            out += bytes([component["member"]]) + number(component["sequence"], 24)
        overheard, removed = component["overheard"], component["removed"]
        front = bytes.fromhex(component["front"])
        out += bytes([component["from"]]) + number(component["its_sequence"], 24)
        out += bytes([component["frame"] | (128 if overheard else 0) | (64 if removed else 0)])
        out += b"".join(number(part, 24) for part in overheard or [])
        out += number(component["number"], 24) + varint(len(front)) + front + varint(component["bytes"])
        if removed:
            out += write_slots_shim(component["shim"]) + b"".join(varint(left) for left in component["left_out"])
    return out + bytes.fromhex("".join(value["macs"]) + value["xor"])


def read_neighbour(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    value: Value = {"boot": reader.number(32)}
    what = reader.number(8)
    value["station"] = reader.take(8).hex()
    if what == 1:
        value["overhears_at_kilobits_per_second"] = reader.varint()
    elif what == 2:
        value |= {"heard_of_boot": reader.number(32), "newest": reader.number(64), "bitmap": reader.rest().hex()}
        require(len(value["bitmap"]) <= 2 * 512, "a bitmap of at most 512 bytes")
    elif what == 3:
        value |= {"slot_bits": reader.number(8) + 14, "chunks": []}
        slot = -1
        for _ in range(reader.varint()):
            slot += reader.varint() + 1
            value["chunks"].append([slot, reader.number(32)])
        require(value["slot_bits"] <= 24 and slot < 1 << value["slot_bits"], "slots are within their bits")
    elif what in (4, 5):
        value["is"] = "gone" if what == 4 else "here"
    elif what == 6:
        value |= {"key_id": reader.number(24), "traffic_key": reader.take(32).hex()}
    else:
        raise Malformed(f"neighbour frame {what}")
    reader.end()
    return value


def write_neighbour(value: Value) -> bytes:
    if "overhears_at_kilobits_per_second" in value:
        what, body = 1, varint(value["overhears_at_kilobits_per_second"])
    elif "heard_of_boot" in value:
        what, body = 2, number(value["heard_of_boot"], 32) + number(value["newest"], 64)
        body += bytes.fromhex(value["bitmap"])
    elif "chunks" in value:
        what, body, before = 3, bytes([value["slot_bits"] - 14]) + varint(len(value["chunks"])), -1
        for slot, tag in value["chunks"]:
            body += varint(slot - before - 1) + number(tag, 32)
            before = slot
    elif "is" in value:
        what, body = (4 if value["is"] == "gone" else 5), b""
    else:
        what, body = 6, number(value["key_id"], 24) + bytes.fromhex(value["traffic_key"])
    return number(value["boot"], 32) + bytes([what]) + bytes.fromhex(value["station"]) + body
