"""Damaged gzip: flags of the header, lengths and checksums at the end, members, bombs, other ways to compress."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable

import pyarrow as pa

from torture.fuzzing.damage import Chance, cut, damaged, odd_number, overwrite, wrapped

_MIB = 2**20
_EXTRA, _NAME, _COMMENT, _CHECKED = 4, 8, 16, 2  # flags of a header


def gzipped(body: bytes, chance: Chance) -> bytes:
    """A body under Content-Encoding gzip, damaged."""
    sound = gzip.compress(body, chance.choice([0, 1, 9]), mtime=0)
    return chance.choice(_DAMAGES)(sound, body, chance)


def _member(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _header(sound: bytes, _body: bytes, chance: Chance) -> bytes:
    """Fields before the content: told of by flags, there or not there, long, or without an end."""
    flags = chance.choice([_EXTRA, _NAME, _COMMENT, _CHECKED, 0xE0, 0xFF, chance.randrange(256)])
    fields = b""
    if flags & _EXTRA:
        length = chance.choice([0, 1, 9, 65535])
        fields += struct.pack("<H", length) + bytes(chance.choice([length, length // 2]))
    for flag in (_NAME, _COMMENT):
        if flags & flag:
            fields += b"n" * chance.choice([0, 9, 100_000]) + chance.choice([b"\0", b"\0", b""])
    head = bytes([0x1F, 0x8B, chance.choice([8, 8, 8, 0, 7, 255]), flags]) + bytes(6) + fields
    if flags & _CHECKED:
        head += struct.pack("<H", zlib.crc32(head) & 0xFFFF if chance.random() < 0.5 else 0)
    return head + sound[10:]


def _trailer(sound: bytes, body: bytes, chance: Chance) -> bytes:
    """The checksum or the length at the end."""
    place = len(sound) - chance.choice([4, 8])
    return overwrite(sound, place, wrapped(odd_number(chance, len(body)), "<i"))


def _members(sound: bytes, body: bytes, chance: Chance) -> bytes:
    """Several members: of parts, of nothing, of bytes that follow."""
    half = len(body) // 2
    parts = [_member(body[:half]), _member(b"") * chance.choice([1, 20_000]), _member(body[half:])]
    match chance.randrange(4):
        case 0:
            return b"".join(parts)
        case 1:
            return sound + chance.choice([b"\0", b"\0" * 512, b"\x1f\x8b", b"x", sound[:9], sound])
        case 2:
            return _member(sound)
        case _:
            return b"".join(_member(bytes([byte])) for byte in body[:2000])


def _bomb(_sound: bytes, body: bytes, chance: Chance) -> bytes:
    """Many megabytes of one line, of lines, or of nothing, after a sound beginning."""
    size = chance.choice([1, 8, 40, 40]) * _MIB
    filling = chance.choice([b"\0", b"9", b"\n", b"1,2,3\n", b"{}\n", b"[", b'"', body[-40:] or b"x"])
    bomb = zlib.compressobj(9, wbits=31)
    block = filling * max(1, _MIB // len(filling))
    pieces = [bomb.compress(body), *(bomb.compress(block) for _ in range(size // len(block))), bomb.flush()]
    return b"".join(pieces)


def _blocks(sound: bytes, _body: bytes, chance: Chance) -> bytes:
    """Bytes of the compressed blocks."""
    return sound[:10] + damaged(sound[10:], chance)


def _other(_sound: bytes, body: bytes, chance: Chance) -> bytes:
    """Compressed in another way, or not at all."""
    match chance.randrange(4):
        case 0:
            return zlib.compress(body)
        case 1:
            return bytes(pa.Codec("zstd").compress(body))
        case 2:
            return body
        case _:
            return b"\x1f\x9d\x90" + body


def _whole(sound: bytes, _body: bytes, chance: Chance) -> bytes:
    return damaged(sound, chance)


def _cut(sound: bytes, _body: bytes, chance: Chance) -> bytes:
    return cut(sound, chance)


def _sound(sound: bytes, _body: bytes, _chance: Chance) -> bytes:
    return sound


_DAMAGES: tuple[Callable[[bytes, bytes, Chance], bytes], ...] = (
    *(_header, _header, _trailer, _members, _blocks, _blocks, _blocks, _other, _whole, _cut, _sound),
    *(_header, _trailer, _members, _blocks, _whole, _cut, _sound, _bomb),
)
