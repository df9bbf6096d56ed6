"""Headers of carried packets, as what differs from an earlier header of the same flow."""
from __future__ import annotations

from typing import Any

from octets import Malformed, Reader, require, unfold

Value = dict[str, Any]
TCP, UDP = 6, 17
TIMESTAMPS = bytes([1, 1, 8, 10])
ID, STEPS, SEQUENCE, ACK, WINDOW, TIMESTAMP, ECHO = 0x40, 0x20, 0x10, 8, 4, 2, 1
NO_CHECKSUM = 0x20
CHECKSUM, PUSH, FLAGS, OPTIONS, SACK, CLASS, TTL, LABEL = 0x80, 0x40, 0x20, 0x10, 8, 4, 2, 1


class Header:
    """An IP and transport header that is changed in place."""

    def __init__(self, packet: bytes) -> None:
        self.is_ipv6 = packet[0] >> 4 == 6
        if not self.is_ipv6 and packet[0] != 0x45:
            raise Malformed("a context with IPv4 options")
        self.ip_bytes = 40 if self.is_ipv6 else 20
        protocol = packet[6 if self.is_ipv6 else 9]
        if protocol not in (TCP, UDP):
            raise Malformed("a context of another transport")
        self.is_tcp = protocol == TCP
        transport_bytes = 4 * (packet[self.ip_bytes + 12] >> 4) if self.is_tcp else 8
        self.bytes = bytearray(packet[:self.ip_bytes + transport_bytes])
        self.options = self.ip_bytes + 20
        self.has_timestamps = self.is_tcp and self.bytes[self.options:self.options + 4] == TIMESTAMPS

    def get(self, at: int, width: int) -> int:
        return int.from_bytes(self.bytes[at:at + width], "big")

    def put(self, at: int, width: int, value: int) -> None:
        self.bytes[at:at + width] = (value % (1 << 8 * width)).to_bytes(width, "big")

    def add(self, at: int, width: int, value: int) -> None:
        self.put(at, width, self.get(at, width) + value)

    def checksum_at(self) -> int:
        return self.ip_bytes + (16 if self.is_tcp else 6)


def ones_complement(data: bytes) -> int:
    total = sum(int.from_bytes(data[at:at + 2].ljust(2, b"\0"), "big") for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def read_first(header: Header, reader: Reader, bits: int, distance: int) -> int:
    """The fields of the first byte; by how many payloads the sequence moves on."""
    if not header.is_ipv6:
        more = unfold(reader.varint()) if bits & ID else 0
        header.add(4, 2, (distance if header.get(4, 2) else 0) + more)
    steps = 0
    if header.is_tcp:
        at = header.ip_bytes
        if bits & SEQUENCE:
            header.add(at + 4, 4, unfold(reader.varint()))
        else:
            steps = distance + (unfold(reader.varint()) if bits & STEPS else 0)
        if bits & ACK:
            header.add(at + 8, 4, reader.varint())
        if bits & WINDOW:
            header.add(at + 14, 2, unfold(reader.varint()))
        for bit, offset in ((TIMESTAMP, 4), (ECHO, 8)):
            if bits & bit:
                if not header.has_timestamps:
                    raise Malformed("timestamps that the context has not")
                header.add(header.options + offset, 4, reader.varint())
    return steps


def read_options(header: Header, reader: Reader, is_sack: bool) -> None:
    length = reader.number(8)
    all_options = not is_sack and length & 16
    kept = header.options + (12 if header.has_timestamps and not all_options else 0)
    options = bytearray()
    if is_sack:
        require(1 <= length <= 4, "1 to 4 blocks")
        edge = header.get(header.ip_bytes + 8, 4)
        options += bytes([1, 1, 5, 2 + 8 * length])
        for _ in range(2 * length):
            edge = (edge + unfold(reader.varint())) % (1 << 32)
            options += edge.to_bytes(4, "big")
    else:
        options += reader.take(4 * (length & ~16))
    header.bytes[kept:] = options
    require(len(header.bytes) - header.options <= 40, "at most 40 bytes of options")
    words = (len(header.bytes) - header.ip_bytes) // 4
    header.put(header.ip_bytes + 12, 1, words << 4 | header.get(header.ip_bytes + 12, 1) & 15)


def read_second(header: Header, reader: Reader) -> bool:
    """The fields of the second byte; whether the checksum is among them."""
    more = reader.number(8)
    require(more != 0 and (header.is_tcp or more & 0x78 == 0), "bits of these headers, and not none")
    require(more & 0x18 != 0x18, "options or a selective acknowledgment")
    if more & CHECKSUM:
        header.put(header.checksum_at(), 2, reader.number(16))
    if more & PUSH:
        header.bytes[header.ip_bytes + 13] ^= 8
    if more & FLAGS:
        reserved, flags = reader.take(2)
        require(reserved < 16 and not flags & 0x20, "four bits before the flags, and no URG")
        header.put(header.ip_bytes + 12, 1, header.get(header.ip_bytes + 12, 1) & 0xF0 | reserved)
        header.put(header.ip_bytes + 13, 1, flags)
    if more & (OPTIONS | SACK):
        read_options(header, reader, bool(more & SACK))
    if more & CLASS and header.is_ipv6:
        header.put(0, 2, header.get(0, 2) & 0xF00F | reader.number(8) << 4)
    elif more & CLASS:
        header.put(1, 1, reader.number(8))
    if more & TTL:
        header.put(7 if header.is_ipv6 else 8, 1, reader.number(8))
    if more & LABEL and header.is_ipv6:
        header.put(1, 3, header.get(1, 3) & 0xF00000 | reader.number(24))
    elif more & LABEL:
        header.put(6, 1, reader.number(8))
    return bool(more & CHECKSUM)


def pass_over(reader: Reader) -> bytes:
    """A delta of TCP over IPv4 whose context is unknown: its bytes."""
    data = reader.peek()
    bits = reader.number(8)
    for _ in range((bits & 0x7F).bit_count()):
        reader.varint()
    if bits & 0x80:
        more = reader.number(8)
        reader.take(2 * bool(more & CHECKSUM) + 2 * bool(more & FLAGS))
        if more & OPTIONS:
            reader.take(4 * (reader.number(8) & ~16))
        elif more & SACK:
            for _ in range(2 * reader.number(8)):
                reader.varint()
        reader.take((more & (CLASS | TTL | LABEL)).bit_count())
    return data[:len(data) - reader.left()]


def finish(header: Header, steps: int, checksum_is_right: bool, payload: bytes) -> bytes:
    """The packet, with what follows from its payload."""
    length = len(header.bytes) + len(payload)
    if header.is_ipv6:
        header.put(4, 2, length - 40)
    else:
        header.put(2, 2, length)
        header.put(10, 2, 0)
        header.put(10, 2, ones_complement(header.bytes[:20]))
    if header.is_tcp:
        header.add(header.ip_bytes + 4, 4, steps * len(payload))
    else:
        header.put(header.ip_bytes + 4, 2, length - header.ip_bytes)
    if checksum_is_right:
        at, addresses = header.checksum_at(), header.bytes[8 if header.is_ipv6 else 12:header.ip_bytes]
        header.put(at, 2, 0)
        behind_ip = length - header.ip_bytes
        pseudo = bytes(addresses) + bytes([0, TCP if header.is_tcp else UDP]) + behind_ip.to_bytes(2, "big")
        checksum = ones_complement(pseudo + header.bytes[header.ip_bytes:] + payload)
        header.put(at, 2, checksum if checksum or header.is_tcp else 0xFFFF)
    return bytes(header.bytes) + payload


def begin(context: bytes, distance: int, reader: Reader) -> tuple[Header, int, bool]:
    """The header that the delta at the reader's place gives, and what `finish` needs beside it."""
    header = Header(context)
    bits = reader.number(8)
    valid = (0xFF if header.is_tcp else 0x80 | NO_CHECKSUM | ID) & (~ID if header.is_ipv6 else 0xFF)
    require(bits & ~valid == 0 and (not header.is_tcp or bits & 0x30 != 0x30), "bits of these headers")
    steps = read_first(header, reader, bits, distance)
    checksum_is_right = True
    if not header.is_tcp and bits & NO_CHECKSUM:
        header.put(header.checksum_at(), 2, 0)
        checksum_is_right = False
    if bits & 0x80 and read_second(header, reader):
        checksum_is_right = False
    return header, steps, checksum_is_right


def read_header_delta(data: bytes, given: Value) -> Value:
    reader = Reader(data)
    context, payload = bytes.fromhex(given["context"]), bytes.fromhex(given["payload"])
    packet = finish(*begin(context, given["distance"], reader), payload)
    reader.end()
    return given | {"packet": packet.hex()}
