"""A ZIP archive with deterministic bytes: the same members give the same file, on every machine and in every year.

Every member is stored as it is, with the date 1980-01-01 and the mode 0644, in a fixed order, without extra fields,
comments or ZIP64 (APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16). So there is exactly one file for given
members, and `unpack` takes no other: after its own checks it packs what it has read and compares.

    local header, name, bytes     for each member
    central header, name          for each member
    end record
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from zlib import crc32

from rugnik.errors import UnfitBundle

MAX_BYTES = 2**32 - 1  # of an archive without ZIP64
_DATE = (1 << 5) | 1  # 1980-01-01, as MS-DOS writes it; midnight is 0
_MODE = 0o100644 << 16  # a plain file that everybody may read
_VERSION, _UNIX = 20, 3
_LOCAL, _CENTRAL, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_LOCAL_HEADER = Struct("<4s5H3L2H")  # signature, version, flags, method, time, date, crc, 2 sizes, 2 lengths
_CENTRAL_HEADER = Struct("<4s6H3L5H2L")
_END_RECORD = Struct("<4s4H2LH")
_ENCRYPTED = 1  # a flag
_ZIP64 = 2**32 - 1  # a size that says: see the extra field

Allowed = Callable[[str, bytes], int]  # the most bytes of a member, given its name and how it begins


def pack(members: Mapping[str, bytes]) -> bytes:
    """The archive of these members, in their order. UnfitBundle where it would need ZIP64."""
    parts: list[bytes] = []
    directory: list[bytes] = []
    offset = 0
    for name, content in members.items():
        written, sizes = name.encode("ascii"), (crc32(content), len(content), len(content))
        if offset + len(content) > MAX_BYTES - 2**16:
            raise UnfitBundle("A bundle has at most 4 GiB.")
        local = _LOCAL_HEADER.pack(_LOCAL, _VERSION, 0, 0, 0, _DATE, *sizes, len(written), 0)
        parts += [local, written, content]
        versions = (_UNIX << 8 | _VERSION, _VERSION)
        central = (_CENTRAL, *versions, 0, 0, 0, _DATE, *sizes, len(written), 0, 0, 0, 0, _MODE, offset)
        directory += [_CENTRAL_HEADER.pack(*central), written]
        offset += len(local) + len(written) + len(content)
    listed = b"".join(directory)
    end = _END_RECORD.pack(_END, 0, 0, len(members), len(members), len(listed), offset, 0)
    return b"".join((*parts, listed, end))


def unpack(data: bytes, names: Sequence[str], allowed: Allowed) -> dict[str, bytes]:
    """The members of an archive that `pack` wrote, with exactly these names in this order; else UnfitBundle."""
    if len(data) > MAX_BYTES:
        raise UnfitBundle("This file is larger than 4 GiB: no bundle is.")
    if not data.startswith(_LOCAL):
        raise UnfitBundle("This file is no bundle: it does not begin with the first member of a ZIP archive.")
    members: dict[str, bytes] = {}
    offset = 0
    while data[offset : offset + 4] == _LOCAL:
        offset = _take(data, offset, members, names, allowed)
    missing = [name for name in names if name not in members]
    if missing:
        raise UnfitBundle(f"This bundle has no {missing[0]}.")
    if list(members) != list(names):
        raise UnfitBundle("The members of this bundle are not in their order.")
    _require_canonical(data, pack(members))
    return members


def _take(data: bytes, offset: int, members: dict[str, bytes], names: Sequence[str], allowed: Allowed) -> int:
    """Add the member whose header is here; returns where the next one begins."""
    if offset + _LOCAL_HEADER.size > len(data):
        raise UnfitBundle("This bundle is cut off.")
    _, _, flags, method, _, _, crc, stored, size, name_length, extra_length = _LOCAL_HEADER.unpack_from(data, offset)
    named = offset + _LOCAL_HEADER.size
    start: int = named + name_length + extra_length
    name = _known(data[named : named + name_length], members, names)
    if flags & _ENCRYPTED:
        raise UnfitBundle(f"{name} in this bundle is encrypted.")
    if method:
        raise UnfitBundle(f"{name} in this bundle is compressed: a bundle stores its members as they are.")
    if _ZIP64 in (stored, size):
        raise UnfitBundle(f"{name} in this bundle has sizes of ZIP64: no bundle needs them.")
    if flags or extra_length or stored != size:
        raise UnfitBundle(f"The header of {name} in this bundle is not as rugnik writes it.")
    if start + size > len(data):
        raise UnfitBundle("This bundle is cut off.")
    content = data[start : start + size]
    if size > allowed(name, content):
        raise UnfitBundle(f"{name} in this bundle is larger than it can be.")
    if crc32(content) != crc:
        raise UnfitBundle(f"{name} in this bundle is damaged.")
    members[name] = content
    return start + len(content)


def _known(written: bytes, members: Mapping[str, bytes], names: Sequence[str]) -> str:
    """The name of a member, if it is one of a bundle and was not there before."""
    name = written.decode("ascii", "replace")
    if name not in names:
        raise UnfitBundle("This bundle has a member that no bundle has.")
    if name in members:
        raise UnfitBundle(f"This bundle has {name} twice.")
    return name


def _require_canonical(data: bytes, expected: bytes) -> None:
    """Refuse everything that is not the one archive of these members."""
    if data == expected:
        return
    if data.startswith(expected):
        raise UnfitBundle("This bundle has data after its end.")
    if expected.startswith(data):
        raise UnfitBundle("This bundle is cut off.")
    raise UnfitBundle("The directory of this bundle is not that of its members.")
