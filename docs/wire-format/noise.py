"""Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s with the prologue `overheard 1`, and the units that carry it."""
from __future__ import annotations

import hmac
from hashlib import blake2s
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

import units
from octets import Malformed, Reader, number

Value = dict[str, Any]
NAME = b"Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s"


def exchange(private_key: bytes, public_key: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(private_key).exchange(X25519PublicKey.from_public_bytes(public_key))


def public(private_key: bytes) -> bytes:
    key = X25519PrivateKey.from_private_bytes(private_key).public_key()
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def expand(chaining_key: bytes, material: bytes, outputs: int) -> list[bytes]:
    """Noise's HKDF with HMAC-BLAKE2s."""
    secret = hmac.digest(chaining_key, material, "blake2s")
    parts = [b""]
    for index in range(1, outputs + 1):
        parts.append(hmac.digest(secret, parts[-1] + bytes([index]), "blake2s"))
    return parts[1:]


class Symmetric:
    """Noise's symmetric state."""

    def __init__(self, responder: bytes) -> None:
        self._hash = self._chaining_key = blake2s(NAME).digest()
        self._key, self._nonce = b"", 0
        self.mix_hash(b"overheard 1")
        self.mix_hash(responder)

    def mix_hash(self, data: bytes) -> None:
        self._hash = blake2s(self._hash + data).digest()

    def mix_key(self, material: bytes) -> None:
        self._chaining_key, self._key = expand(self._chaining_key, material, 2)
        self._nonce = 0

    def mix_ephemeral(self, public_key: bytes) -> None:
        """Of a pattern with a pre-shared key both hash and key take it in."""
        self.mix_hash(public_key)
        self.mix_key(public_key)

    def mix_preshared_key(self, key: bytes) -> None:
        self._chaining_key, mixed, self._key = expand(self._chaining_key, key, 3)
        self.mix_hash(mixed)
        self._nonce = 0

    def encrypt(self, plaintext: bytes) -> bytes:
        text = ChaCha20Poly1305(self._key).encrypt(units.nonce(self._nonce), plaintext, self._hash)
        self._nonce += 1
        self.mix_hash(text)
        return text

    def decrypt(self, text: bytes) -> bytes:
        try:
            plaintext = ChaCha20Poly1305(self._key).decrypt(units.nonce(self._nonce), text, self._hash)
        except InvalidTag:
            raise Malformed("a Noise message does not open") from None
        self._nonce += 1
        self.mix_hash(text)
        return plaintext

    def split(self) -> list[bytes]:
        return expand(self._chaining_key, b"", 2)


def key_of(side: Value, name: str) -> bytes:
    return bytes.fromhex(side[name])


def preshared_key(given: Value) -> bytes:
    if given["pair_key"] is None:
        return bytes.fromhex(given["network_key"])
    return units.write_preshared_key(given)


def mark(given: Value, *parts: bytes) -> bytes:
    key = units.derive(bytes.fromhex(given["network_key"]), b"overheard 1 handshake mark")
    return units.mark(key, b"".join(parts))


def write_initiation(given: Value, key_id: int, noise: bytes) -> bytes:
    header = bytes([0x11]) + number(key_id, 24)
    return header + mark(given, header, noise) + noise


def write_cookie_initiation(value: Value) -> bytes:
    """The unit of kind 5."""
    header, noise = bytes([0x15]) + number(value["key_id"], 24), bytes.fromhex(value["noise"])
    cookie_mark = units.mark(bytes.fromhex(value["cookie"]), header + noise)
    return header + mark(value, header, cookie_mark, noise) + cookie_mark + noise


def read_handshake(data: bytes, given: Value) -> Value:
    """The responder's end of the initiation, then the initiator's end of the response."""
    initiator, responder = given["initiator"], given["responder"]
    unit, header, body = units.read_unit(Reader(data))
    reader = Reader(body)
    if reader.take(16) != mark(given, header, noise := body[16:]):
        raise Malformed("the initiation's mark")
    reader = Reader(noise)
    own, state = key_of(responder, "private_key"), Symmetric(public(key_of(responder, "private_key")))
    state.mix_ephemeral(ephemeral := reader.take(32))
    state.mix_key(exchange(own, ephemeral))
    static = state.decrypt(reader.take(48))
    state.mix_key(exchange(own, static))
    heard = {"private_key": initiator["private_key"], "ephemeral_key": initiator["ephemeral_key"],
             "key_id": unit["key_id"], "hello": state.decrypt(reader.rest()).hex()}
    if static != public(key_of(initiator, "private_key")):
        raise Malformed("another initiator's static key")
    answered, response = read_response(given)
    written, keys = respond(given, state, ephemeral, static)
    if written != response:
        raise Malformed(f"the response is {written.hex()}")
    mac_keys = [units.derive(key, b"overheard 1 packet mac") for key in keys]
    return given | {"initiator": heard, "responder": answered, "response": response.hex(),
                    "traffic_keys": [key.hex() for key in keys], "mac_keys": [key.hex() for key in mac_keys]}


def respond(given: Value, state: Symmetric, ephemeral: bytes, static: bytes) -> tuple[bytes, list[bytes]]:
    """The response, and the traffic keys: the initiator's, then the responder's."""
    responder = given["responder"]
    own = key_of(responder, "ephemeral_key")
    state.mix_ephemeral(public(own))
    state.mix_key(exchange(own, ephemeral))
    state.mix_key(exchange(own, static))
    state.mix_preshared_key(preshared_key(given))
    noise = public(own) + state.encrypt(key_of(responder, "hello"))
    header = bytes([0x12]) + number(given["initiator"]["key_id"], 24)
    key_id = responder["key_id"]
    shown = mark(given, header, number(key_id, 32), noise)
    return header + number(key_id, 24) + shown + noise, state.split()


def initiate(given: Value) -> tuple[bytes, Symmetric]:
    initiator = given["initiator"]
    responder = public(key_of(given["responder"], "private_key"))
    own, state = key_of(initiator, "ephemeral_key"), Symmetric(responder)
    state.mix_ephemeral(public(own))
    state.mix_key(exchange(own, responder))
    noise = public(own) + state.encrypt(public(key_of(initiator, "private_key")))
    state.mix_key(exchange(key_of(initiator, "private_key"), responder))
    noise += state.encrypt(key_of(initiator, "hello"))
    return write_initiation(given, initiator["key_id"], noise), state


def read_response(given: Value) -> tuple[Value, bytes]:
    """What the initiator reads of the response, and its bytes."""
    initiator, responder = given["initiator"], given["responder"]
    response = bytes.fromhex(given["response"])
    _, header, body = units.read_unit(Reader(response))
    reader = Reader(body)
    key_id, shown, noise = reader.number(24), reader.take(16), reader.rest()
    if shown != mark(given, header, number(key_id, 32), noise):
        raise Malformed("the response's mark")
    _, state = initiate(given)
    state.mix_ephemeral(ephemeral := noise[:32])
    state.mix_key(exchange(key_of(initiator, "ephemeral_key"), ephemeral))
    state.mix_key(exchange(key_of(initiator, "private_key"), ephemeral))
    state.mix_preshared_key(preshared_key(given))
    hello = state.decrypt(noise[32:])
    return responder | {"key_id": key_id, "hello": hello.hex()}, response


def write_handshake(value: Value) -> bytes:
    return initiate(value)[0]


def write_pair_key(value: Value) -> bytes:
    shared = exchange(bytes.fromhex(value["private_key"]), bytes.fromhex(value["public_key"]))
    return units.derive(shared, b"overheard 2 pair")
