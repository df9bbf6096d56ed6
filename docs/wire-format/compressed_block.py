"""The content of one compressed block of Zstandard (RFC 8878, section 3.1.1.2.2)."""
from __future__ import annotations

from dataclasses import dataclass

from octets import Malformed, Reader

LITERAL_LENGTHS = [(code, 0) for code in range(16)] + [
    (16, 1), (18, 1), (20, 1), (22, 1), (24, 2), (28, 2), (32, 3), (40, 3), (48, 4), (64, 6), (128, 7), (256, 8),
    (512, 9), (1024, 10), (2048, 11), (4096, 12), (8192, 13), (16384, 14), (32768, 15), (65536, 16)]
MATCH_LENGTHS = [(code + 3, 0) for code in range(32)] + [
    (35, 1), (37, 1), (39, 1), (41, 1), (43, 2), (47, 2), (51, 3), (59, 3), (67, 4), (83, 4), (99, 5), (131, 7),
    (259, 8), (515, 9), (1027, 10), (2051, 11), (4099, 12), (8195, 13), (16387, 14), (32771, 15), (65539, 16)]
DEFAULT_LITERALS = [4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
                    -1, -1, -1, -1]
DEFAULT_OFFSETS = [1, 1, 1, 1, 1, 1, 2, 2, 2] + 15 * [1] + 5 * [-1]
DEFAULT_MATCHES = [1, 4, 3, 2, 2, 2, 2, 2, 2] + 37 * [1] + 7 * [-1]


class Backwards:
    """Bits from the end of a stream to its front."""

    def __init__(self, data: bytes) -> None:
        if not data or not data[-1]:
            raise Malformed("Zstandard: a stream without its end")
        self._bits = int.from_bytes(data, "little")
        self.left = self._bits.bit_length() - 1

    def take(self, count: int) -> int:
        """Zeros follow the front; `left` is then negative."""
        self.left -= count
        bits = self._bits >> self.left if self.left >= 0 else self._bits << -self.left
        return bits & (1 << count) - 1


@dataclass(frozen=True)
class Entry:
    symbol: int
    bits: int
    base: int


def fse_table(counts: list[int], accuracy: int) -> list[Entry]:
    size = 1 << accuracy
    symbols, following, end = [0] * size, {}, size
    for symbol, count in enumerate(counts):
        if count < 0:
            end -= 1
            symbols[end], following[symbol] = symbol, 1
    at = 0
    for symbol, count in enumerate(counts):
        if count > 0:
            following[symbol] = count
        for _ in range(count):
            symbols[at] = symbol
            at = at + (size >> 1) + (size >> 3) + 3 & size - 1
            while at >= end:
                at = at + (size >> 1) + (size >> 3) + 3 & size - 1
    table = []
    for symbol in symbols:
        state, following[symbol] = following[symbol], following[symbol] + 1
        bits = accuracy - state.bit_length() + 1
        table.append(Entry(symbol, bits, (state << bits) - size))
    return table


def read_fse_table(reader: Reader, most: int) -> tuple[list[Entry], int]:
    """A table and its accuracy; the description ends at a whole byte."""
    data, at = int.from_bytes(reader.peek(), "little"), 4
    accuracy = (data & 15) + 5
    if accuracy > most:
        raise Malformed("Zstandard: accuracy")
    remaining, counts = 1 << accuracy, []
    while remaining > 0:
        bits = (remaining + 1).bit_length()
        value, low = data >> at & (1 << bits) - 1, (1 << bits - 1) - 1
        threshold = (1 << bits) - 2 - remaining
        if value & low < threshold:
            value, at = value & low, at + bits - 1
        else:
            value, at = value - threshold if value > low else value, at + bits
        counts.append(value - 1)
        remaining -= abs(value - 1)
        while value == 1:
            repeat, at = data >> at & 3, at + 2
            counts += [0] * repeat
            if repeat < 3:
                break
    reader.take((at + 7) // 8)
    return fse_table(counts, accuracy), accuracy


def read_weights(reader: Reader) -> list[int]:
    count = reader.number(8)
    if count >= 128:
        packed = reader.take((count - 126) // 2)
        return [packed[at // 2] >> (0 if at % 2 else 4) & 15 for at in range(count - 127)]
    part = Reader(reader.take(count))
    table, accuracy = read_fse_table(part, 6)
    bits = Backwards(part.rest())
    states, weights = [bits.take(accuracy), bits.take(accuracy)], []
    while True:
        entry = table[states[0]]
        weights.append(entry.symbol)
        state = entry.base + bits.take(entry.bits)
        if bits.left < 0:
            return weights + [table[states[1]].symbol]
        states = [states[1], state]


def read_huffman(reader: Reader) -> tuple[list[tuple[int, int]], int]:
    """Of each code its symbol and bits, and how long the longest is."""
    weights = read_weights(reader)
    total = sum(1 << weight - 1 for weight in weights if weight)
    longest = total.bit_length()
    weights.append(((1 << longest) - total).bit_length())
    table: list[tuple[int, int]] = []
    for weight in range(1, longest + 1):
        for symbol in (symbol for symbol, its in enumerate(weights) if its == weight):
            table += [(symbol, longest + 1 - weight)] * (1 << weight - 1)
    return table, longest


def read_stream(data: bytes, count: int, table: list[tuple[int, int]], longest: int) -> bytes:
    bits, out = Backwards(data), bytearray()
    for _ in range(count):
        symbol, length = table[bits.take(longest)]
        bits.left += longest - length
        out.append(symbol)
    if bits.left != 0:
        raise Malformed("Zstandard: Huffman stream")
    return bytes(out)


def read_literals(reader: Reader) -> bytes:
    first = reader.peek()[0]
    kind, form = first & 3, first >> 2 & 3
    if kind < 2:
        width = {0: 1, 1: 2, 2: 1, 3: 3}[form]
        count = int.from_bytes(reader.take(width), "little") >> (3 if width == 1 else 4)
        return reader.take(count) if kind == 0 else reader.take(1) * count
    if kind == 3:
        raise Malformed("Zstandard: a tree of a block before")
    width, bits = {0: (3, 10), 1: (3, 10), 2: (4, 14), 3: (5, 18)}[form]
    lengths = int.from_bytes(reader.take(width), "little") >> 4
    count, compressed = lengths & (1 << bits) - 1, lengths >> bits
    part = Reader(reader.take(compressed))
    table, longest = read_huffman(part)
    if form == 0:
        return read_stream(part.rest(), count, table, longest)
    sizes = [int.from_bytes(part.take(2), "little") for _ in range(3)]
    streams = [part.take(size) for size in sizes] + [part.rest()]
    quarter = (count + 3) // 4
    counts = [quarter, quarter, quarter, count - 3 * quarter]
    return b"".join(read_stream(data, its, table, longest) for data, its in zip(streams, counts))


def read_table(reader: Reader, mode: int, default: list[int], accuracy: int, most: int) -> tuple[list[Entry], int]:
    if mode == 0:
        return fse_table(default, accuracy), accuracy
    if mode == 1:
        return [Entry(reader.number(8), 0, 0)], 0
    if mode == 2:
        return read_fse_table(reader, most)
    raise Malformed("Zstandard: a table of a block before")


def read_count(reader: Reader) -> int:
    first = reader.number(8)
    if first < 128:
        return first
    if first < 255:
        return (first - 128 << 8) + reader.number(8)
    return int.from_bytes(reader.take(2), "little") + 0x7F00


def expand(block: bytes) -> bytes:
    """The bytes that the block stands for."""
    reader = Reader(block)
    literals = Reader(read_literals(reader))
    count = read_count(reader)
    if count == 0:
        reader.end()
        return literals.rest()
    modes = reader.number(8)
    lengths, of_lengths = read_table(reader, modes >> 6, DEFAULT_LITERALS, 6, 9)
    offsets, of_offsets = read_table(reader, modes >> 4 & 3, DEFAULT_OFFSETS, 5, 8)
    matches, of_matches = read_table(reader, modes >> 2 & 3, DEFAULT_MATCHES, 6, 9)
    bits = Backwards(reader.rest())
    length, offset, match = (bits.take(accuracy) for accuracy in (of_lengths, of_offsets, of_matches))
    out, recent = bytearray(), [1, 4, 8]
    for index in range(count):
        code = offsets[offset].symbol
        value = (1 << code) + bits.take(code)
        base, more = MATCH_LENGTHS[matches[match].symbol]
        match_bytes = base + bits.take(more)
        base, more = LITERAL_LENGTHS[lengths[length].symbol]
        literal_bytes = base + bits.take(more)
        out += literals.take(literal_bytes)
        copy(out, distance(value, literal_bytes, recent), match_bytes)
        if index + 1 < count:
            length = lengths[length].base + bits.take(lengths[length].bits)
            match = matches[match].base + bits.take(matches[match].bits)
            offset = offsets[offset].base + bits.take(offsets[offset].bits)
    if bits.left != 0:
        raise Malformed("Zstandard: sequences")
    return bytes(out) + literals.rest()


def distance(value: int, literal_bytes: int, recent: list[int]) -> int:
    """The distance of a match; it becomes the first of the recent ones."""
    if value > 3:
        recent[:] = [value - 3] + recent[:2]
        return recent[0]
    index = value - 1 + (literal_bytes == 0)
    chosen = recent[0] - 1 if index == 3 else recent.pop(index)
    recent[:] = [chosen] + recent[:2]
    return chosen


def copy(out: bytearray, back: int, count: int) -> None:
    if not 0 < back <= len(out):
        raise Malformed("Zstandard: a match before the front")
    for _ in range(count):
        out.append(out[-back])
