"""Units and what of them is under a key: seals, marks, tokens, challenges, and the hello of a handshake."""
from __future__ import annotations

from hashlib import blake2s
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from hashes import highway
from octets import Malformed, Reader, number, require, varint

Value = dict[str, Any]
KINDS = ["sealed", "initiation", "response", "reset", "group", "initiation with a cookie", "challenge"]
COUNTED = (0, 4)


def derive(key: bytes, label: bytes) -> bytes:
    return blake2s(label, key=key, digest_size=32).digest()


def mark(key: bytes, data: bytes) -> bytes:
    return blake2s(data, key=key, digest_size=16).digest()


def read_unit(reader: Reader) -> tuple[Value, bytes, bytes]:
    """The fields of the next unit of a datagram, the header, and what follows."""
    first = reader.number(8)
    require(first & 7 < len(KINDS), "kinds are 0 to 6")
    require(first >> 4 <= 2 if first & 7 == 0 else first >> 4 == 1, "sealed units have version 0, 1 or 2, others 1")
    value: Value = {"kind": KINDS[first & 7], "version": first >> 4, "key_id": reader.number(24)}
    header = bytes([first]) + number(value["key_id"], 24)
    if first & 7 in COUNTED:
        value["counter"] = reader.number(24)
        header += number(value["counter"], 24)
    if first & 8:
        length = reader.number(16)
        header += number(length, 16)
        body = reader.take(length)
    else:
        body = reader.rest()
    return value | {"header_bytes": len(header), "body_bytes": len(body)}, header, body


def read_datagram(data: bytes, _: Value) -> Value:
    """The fields of the first unit, and in `bodies` all."""
    reader = Reader(data)
    units: list[Value] = []
    while reader.left() and len(units) < 16:
        value, header, body = read_unit(reader)
        units.append(value | {"says_length": bool(header[0] & 8), "body": body.hex()})
    return units[0] | {"units": units}


def write_datagram(value: Value) -> bytes:
    out = b""
    for unit in value["units"]:
        kind, body = KINDS.index(unit["kind"]), bytes.fromhex(unit["body"])
        out += bytes([unit["version"] << 4 | unit["says_length"] << 3 | kind]) + number(unit["key_id"], 24)
        if kind in COUNTED:
            out += number(unit["counter"], 24)
        if unit["says_length"]:
            out += number(len(body), 16)
        out += body
    return out


def read_varint(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    value = {"number": reader.varint()}
    reader.end()
    return value


def write_varint(value: Value) -> bytes:
    return varint(value["number"])


HELLO = [("oldest_version", 8), ("newest_version", 8), ("boot", 64), ("number", 32), ("store_kib", 32),
         ("capabilities", 32), ("window_bytes", 8), ("sample_bits", 8)]
HELLO_2 = [("draft", 8), ("across_boots", 64)]


def read_hello(data: bytes, _: Value) -> Value:
    reader = Reader(data)
    value: Value = {name: reader.number(bits) for name, bits in HELLO}
    value["reset_token"] = reader.take(16).hex()
    if value["newest_version"] >= 2 and reader.left() >= 9:
        value |= {name: reader.number(bits) for name, bits in HELLO_2}
    return value


def write_hello(value: Value) -> bytes:
    out = b"".join(number(value[name], bits) for name, bits in HELLO) + bytes.fromhex(value["reset_token"])
    return out + b"".join(number(value[name], bits) for name, bits in HELLO_2 if name in value)


def nonce(counter: int) -> bytes:
    return bytes(4) + counter.to_bytes(8, "little")


def nearest(low: int, bits: int, expected: int) -> int:
    """The number with these low bits that is nearest to the expected one."""
    size = 1 << bits
    candidate = expected - expected % size + low
    return min((number for number in (candidate - size, candidate, candidate + size) if number >= 0),
               key=lambda number: abs(number - expected))


def read_sealed(data: bytes, given: Value) -> Value:
    unit, header, body = read_unit(Reader(data))
    counter = nearest(unit["counter"], 24, given["counter"])
    plaintext = open_seal(bytes.fromhex(given["key"]), counter, header, body, cipher_of(given))
    return given | {"counter": counter, "plaintext": plaintext.hex(), "header": header.hex()}


def cipher_of(value: Value) -> type:
    return AESGCM if value.get("cipher") == "AES-256-GCM" else ChaCha20Poly1305


def open_seal(key: bytes, counter: int, header: bytes, body: bytes, cipher: type = ChaCha20Poly1305) -> bytes:
    try:
        return cipher(key).decrypt(nonce(counter), body, header)
    except InvalidTag:
        raise Malformed("the seal does not open") from None


def write_sealed(value: Value) -> bytes:
    header = bytes.fromhex(value["header"])
    cipher = cipher_of(value)(bytes.fromhex(value["key"]))
    return header + cipher.encrypt(nonce(value["counter"]), bytes.fromhex(value["plaintext"]), header)


def packet_mac(traffic_key: str, sequence: int, packet: bytes) -> bytes:
    """The MAC under the key that follows from the traffic key of the packet's direction."""
    key = derive(bytes.fromhex(traffic_key), b"overheard 1 packet mac")
    return number(highway(key, sequence.to_bytes(8, "little") + packet), 64)


def write_packet_mac(value: Value) -> bytes:
    return packet_mac(value["traffic_key"], value["sequence"], bytes.fromhex(value["packet"]))


def write_digest(value: Value) -> bytes:
    return number(highway(bytes(32), bytes.fromhex(value["packet"])), 64)


def group_mac(value: Value) -> bytes:
    key_id = value["key_id"] << 38 if value["session_version"] >= 2 else 0
    return packet_mac(value["session_key"], 1 << 63 | key_id | value["counter"], bytes.fromhex(value["plaintext"]))


def read_group_unit(data: bytes, given: Value) -> Value:
    unit, header, body = read_unit(Reader(data))
    reader = Reader(open_seal(bytes.fromhex(given["group_key"]), unit["counter"], header, body))
    value = given | {"key_id": unit["key_id"], "counter": unit["counter"], "member": reader.number(8)}
    shown, value["plaintext"] = reader.take(8), reader.rest().hex()
    if shown != group_mac(value):
        raise Malformed("the unit's MAC")
    return value


def write_group_unit(value: Value) -> bytes:
    header = bytes([0x14]) + number(value["key_id"], 24) + number(value["counter"], 24)
    plaintext = bytes([value["member"]]) + group_mac(value) + bytes.fromhex(value["plaintext"])
    cipher = ChaCha20Poly1305(bytes.fromhex(value["group_key"]))
    return header + cipher.encrypt(nonce(value["counter"]), plaintext, header)


def challenge_key(value: Value) -> bytes:
    return derive(bytes.fromhex(value["key"]), bytes.fromhex(value["mark"] + value["salt"]))


def read_challenge(data: bytes, given: Value) -> Value:
    unit, header, body = read_unit(Reader(data))
    reader = Reader(body)
    value = {"key_id": unit["key_id"], "key": given["key"], "mark": given["mark"], "salt": reader.take(16).hex()}
    form = reader.number(8)
    plaintext = open_seal(challenge_key(value), 0, header, reader.rest())
    if form == 1:
        return value | {"cookie": plaintext.hex()}
    if form == 2:
        require(len(plaintext) == 8, "a number of 8 bytes")
        return value | {"number": int.from_bytes(plaintext, "big")}
    raise Malformed(f"form {form}")


def write_challenge(value: Value) -> bytes:
    header = bytes([0x16]) + number(value["key_id"], 24)
    plaintext = bytes.fromhex(value["cookie"]) if "cookie" in value else number(value["number"], 64)
    out = header + bytes.fromhex(value["salt"]) + bytes([1 if "cookie" in value else 2])
    return out + ChaCha20Poly1305(challenge_key(value)).encrypt(nonce(0), plaintext, header)


def write_derive(value: Value) -> bytes:
    return derive(bytes.fromhex(value["key"]), value["label"].encode())


def write_preshared_key(value: Value) -> bytes:
    key = derive(bytes.fromhex(value["network_key"]), b"overheard 2 preshared key")
    return derive(key, bytes.fromhex(value["pair_key"]))


def write_reset_token(value: Value) -> bytes:
    key = derive(bytes.fromhex(value["private_key"]), b"overheard 1 reset token")
    return mark(key, number(value["key_id"], 32))


def write_cookie_mark(value: Value) -> bytes:
    return mark(bytes.fromhex(value["cookie"]), bytes.fromhex(value["header"] + value["noise"]))
