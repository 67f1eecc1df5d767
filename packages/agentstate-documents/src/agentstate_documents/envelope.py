"""What a body's bytes are: typed values, framed, compressed, with the codec named.

Rule: what was ever written stays readable. A codec or a type code is only ever added, and
only one that every supported Python can read without a package.

A body is one byte of placement (`chunks`), one byte of codec, and data. Codec 0 is data as
it is, for what does not shrink; codec 1 is raw deflate with `DICTIONARY`. Inside are
frames, one per value a serializer produced: its type, length and bytes. Codec 2 is one
frame that holds packed bytes encrypted: ciphertext would not compress.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from agentstate_documents.dictionary import DICTIONARY
from agentstate_documents.errors import StoredFormatUnknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What a serializer's `dumps_typed` returns.
Typed = tuple[str, bytes]

STORED, DEFLATED, SEALED = b"\x00", b"\x01", b"\x02"

# One byte for the types LangGraph's serializers produce; 0 means the name follows.
_TYPES = ("msgpack", "null", "bytes", "bytearray", "json", "pickle", "bytes+aes")
_CODES = {name: bytes([code]) for code, name in enumerate(_TYPES, start=1)}

# The window of raw deflate, and the memory and level of the smallest result. Above a megabyte
# that level takes some 50 ms each, the fastest a quarter, for a fifth more bytes.
_WBITS, _MEMORY = -15, 9
_LEVEL, _FAST_LEVEL, _FAST_ABOVE_BYTES = 9, 1, 1_000_000


def pack(frames: Iterable[Typed]) -> bytes:
    """The frames as one text of bytes, compressed when that makes it smaller."""
    raw = b"".join(_framed(frames))
    level = _LEVEL if len(raw) <= _FAST_ABOVE_BYTES else _FAST_LEVEL
    deflate = zlib.compressobj(
        level, zlib.DEFLATED, _WBITS, _MEMORY, zlib.Z_DEFAULT_STRATEGY, DICTIONARY
    )
    packed = deflate.compress(raw) + deflate.flush()
    return DEFLATED + packed if len(packed) < len(raw) else STORED + raw


def seal(frame: Typed) -> bytes:
    """Packed bytes that a serializer has encrypted into `frame`."""
    return SEALED + b"".join(_framed([frame]))


def sealed_frame(packed: bytes) -> Typed | None:
    """The frame `seal` was given, None for bytes that are not sealed."""
    return next(_unframed(packed[1:])) if packed[:1] == SEALED else None


def unpack(packed: bytes) -> list[Typed]:
    """The frames `pack` was given.

    Raises:
        StoredFormatUnknown: A newer version wrote this.
        Exception: Of any kind, where the bytes are damaged; see `errors.reading`.
    """
    codec, data = packed[:1], packed[1:]
    if codec == DEFLATED:
        inflate = zlib.decompressobj(_WBITS, DICTIONARY)
        data = inflate.decompress(data)
        if not inflate.eof:
            raise ValueError("the compressed bytes are cut short")
    elif codec != STORED:
        raise StoredFormatUnknown(f"codec {codec.hex()} is unknown to this version")
    return list(_unframed(data))


def _framed(frames: Iterable[Typed]) -> Iterator[bytes]:
    for kind, data in frames:
        code = _CODES.get(kind)
        if code is None:
            name = kind.encode()
            code = b"\0" + _length(len(name)) + name
        yield code + _length(len(data))
        yield data


def _unframed(data: bytes) -> Iterator[Typed]:
    at = 0
    while at < len(data):
        code = data[at]
        at += 1
        if not code:
            size, at = _read_length(data, at)
            kind = data[at : at + size].decode()
            at += size
        elif code <= len(_TYPES):
            kind = _TYPES[code - 1]
        else:
            raise StoredFormatUnknown(f"value type {code} is unknown to this version")
        size, at = _read_length(data, at)
        if at + size > len(data):
            raise ValueError("a frame is cut short")
        yield kind, data[at : at + size]
        at += size


def _length(size: int) -> bytes:
    out = bytearray()
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    out.append(size)
    return bytes(out)


def _read_length(data: bytes, at: int) -> tuple[int, int]:
    size = shift = 0
    while True:
        byte = data[at]
        at += 1
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return size, at
