"""A cipher for tests: the size and the randomness of a real one, and no secrecy."""

from __future__ import annotations

import hashlib
import os


class Keystream:
    """Like AES-EAX in what matters to storage: 32 bytes longer, different every time."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """The cipher's name, and a nonce with the text mixed with its stream."""
        nonce = os.urandom(32)
        return "keystream", nonce + _mix(nonce, plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        """What `encrypt` was given."""
        assert ciphername == "keystream"
        return _mix(ciphertext[:32], ciphertext[32:])


def _mix(nonce: bytes, data: bytes) -> bytes:
    stream = int.from_bytes(hashlib.shake_256(nonce).digest(len(data)), "big")
    return (int.from_bytes(data, "big") ^ stream).to_bytes(len(data), "big")
