"""Short packets, put back with the headers and packets that the receiver has."""
from __future__ import annotations

from typing import Any

import compressed_block
import headers
from frames import read_regions
from octets import Malformed, Reader, require
from units import packet_mac

Value = dict[str, Any]
REGIONS, HEADER, COMPRESSED = 1, 2, 4


def copy_regions(literals: bytes, regions: list[list[int]], sequence: int, stored: dict[int, bytes]) -> bytes:
    """The packet: literals, with the regions of stored packets between them."""
    reader, packet = Reader(literals), b""
    for before, distance, offset, length in regions:
        source = stored[sequence - distance]
        require(offset + length <= len(source), "a region is within its stored packet")
        packet += reader.take(before) + source[offset:offset + length]
    return packet + reader.rest()


def read_short_packet(data: bytes, given: Value) -> Value:
    reader, sequence = Reader(data), given["sequence"]
    stored = {int(name): bytes.fromhex(packet) for name, packet in given["proved"].items()}
    first = reader.number(8)
    require(first >> 3 == given["generation"] & 31, "the generation")
    mac = reader.take(8) if first & REGIONS else b""
    unfinished = None
    if first & HEADER:
        distance = reader.varint()
        unfinished = headers.begin(stored[sequence - distance], distance, reader)
    regions = read_regions(reader) if first & REGIONS else []
    literals = compressed_block.expand(reader.rest()) if first & COMPRESSED else reader.rest()
    front = bytes(unfinished[0].bytes) if unfinished else b""
    packet = copy_regions(front + literals, regions, sequence, stored)
    if unfinished:
        packet = headers.finish(*unfinished, packet[len(front):])
    if first & REGIONS and mac != packet_mac(given["traffic_key"], sequence, packet):
        raise Malformed("the packet's MAC")
    return given | {"packet": packet.hex()}
