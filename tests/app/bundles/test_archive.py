"""A bundle is one file with one form: the same members give the same bytes, and nothing else is read."""

from __future__ import annotations

import io
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from app.bundles import archive
from app.bundles.bundle import MEDIA_TYPE, NAMES, Bundle
from core.synopsis import Synopsis, most_bytes
from rugnik.errors import UnfitBundle
from tests.support.bundles import STORED, bundle_with, stored

BUNDLE = bundle_with(stored())
DATA = BUNDLE.to_bytes()
# Changes with any change to the bytes of a bundle, its README.txt included: those that are out there have these.
DIGEST = "bc0ef961dd2095402f850d040e497741663cd73661cb85a43f35e71ae2cd0dab"


def members() -> dict[str, bytes]:
    """The members of the bundle, by Python's own reader."""
    with zipfile.ZipFile(io.BytesIO(DATA)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(contents: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    """A ZIP as a common tool writes it."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as file:
        for name, content in contents:
            file.writestr(zipfile.ZipInfo(name), content, method)
    return sink.getvalue()


def packed(**changed: bytes) -> bytes:
    """The bundle with other contents, in the form of a bundle."""
    by_name = members() | {name.replace("_", "."): content for name, content in changed.items()}
    return archive.pack(by_name)


def patched(offset: int, value: bytes) -> bytes:
    """The bundle with other bytes at a place."""
    return DATA[:offset] + value + DATA[offset + len(value) :]


def test_a_bundle_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Every member, from bytes and from a file."""
    file = tmp_path / "x.rugnik"
    file.write_bytes(DATA)
    for read in (Bundle.from_bytes(DATA), Bundle.open(file)):
        assert read.to_bytes() == DATA
        assert (read.synopsis, read.receipt, read.card) == (BUNDLE.synopsis, BUNDLE.receipt, BUNDLE.card)
        assert (read.croissant, read.terms, read.policy) == (BUNDLE.croissant, BUNDLE.terms, BUNDLE.policy)
        assert read.readme == BUNDLE.readme


def test_the_same_members_give_the_same_bytes_in_every_version() -> None:
    """A reader may keep the digest of a bundle, and a service that was upgraded gives the same file."""
    assert sha256(DATA).hexdigest() == DIGEST


def test_other_tools_read_a_bundle() -> None:
    """Stored members with a fixed date and mode, the type of the file first."""
    with zipfile.ZipFile(io.BytesIO(DATA)) as file:
        assert file.testzip() is None
        assert tuple(file.namelist()) == NAMES
        for info in file.infolist():
            assert (info.compress_type, info.date_time) == (zipfile.ZIP_STORED, (1980, 1, 1, 0, 0, 0))
            assert (info.external_attr >> 16, info.create_system, info.extra) == (0o100644, 3, b"")
    assert DATA[30:71] == b"mimetype" + MEDIA_TYPE.encode()  # where `file` and EPUB readers look


def test_a_common_tool_prints_the_digest_of_the_ledger(tmp_path: Path) -> None:
    """`unzip -p x.rugnik synopsis.bin | sha256sum`, or Python where there is no unzip."""
    (tmp_path / "x.rugnik").write_bytes(DATA)
    if shutil.which("unzip"):
        line = ["sh", "-c", "unzip -p x.rugnik synopsis.bin | sha256sum"]
        printed = subprocess.run(line, cwd=tmp_path, check=True, capture_output=True).stdout.split()[0].decode()
    else:
        subprocess.run([sys.executable, "-m", "zipfile", "-e", "x.rugnik", "."], cwd=tmp_path, check=True)
        printed = sha256((tmp_path / "synopsis.bin").read_bytes()).hexdigest()
    assert printed == Synopsis.from_bytes(stored()).digest == BUNDLE.digest
    assert printed in BUNDLE.readme


def test_the_readme_says_how_to_check_and_use_the_file() -> None:
    """In lines that fit a terminal, with nothing left to fill in."""
    text = BUNDLE.readme
    for words in ("unzip -p", "rugnik query", 'rugnik.open("', "rugnik[cli,offline]", "dense_2", *NAMES[2:]):
        assert words in text
    assert max(map(len, text.splitlines())) <= 90
    assert not re.search(r"[{}]", text)


def zip64() -> bytes:
    """The size of the first member is in an extra field."""
    extra = struct.pack("<HHQQ", 1, 16, 33, 33)
    head = DATA[:18] + b"\xff" * 8 + struct.pack("<HH", 8, len(extra)) + DATA[30:38] + extra
    return head + DATA[38:]


def other_directory() -> bytes:
    """The directory names another member than the member itself does."""
    at = DATA.rindex(b"policy")
    return patched(at, b"pulicy")


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", "is no bundle"),
    "another file": (lambda: b"age,income\n1,2\n", "is no bundle"),
    "data before": (lambda: b"#!/bin/sh\n" + DATA, "is no bundle"),
    "data after": (lambda: DATA + b"\0", "data after its end"),
    "another archive after": (lambda: DATA + DATA, "data after its end"),
    "a comment": (lambda: DATA[:-2] + b"\x01\x00x", "directory"),
    "cut in a member": (lambda: DATA[: len(DATA) // 2], "cut off"),
    "cut in a header": (lambda: DATA[:20], "cut off"),
    "cut in the end": (lambda: DATA[:-1], "cut off"),
    "cut after the members": (lambda: DATA[: DATA.index(b"PK\x01\x02")], "cut off"),
    "a duplicate": (lambda: DATA[: DATA.index(b"PK", 4)] + DATA, "mimetype twice"),
    "an unexpected member": (lambda: zipped([*members().items(), ("x.sh", b"")]), "no bundle has"),
    "a path upwards": (lambda: zipped([("../mimetype", b"")]), "no bundle has"),
    "a missing member": (lambda: zipped(list(members().items())[:-1]), "has no policy"),
    "another order": (lambda: archive.pack(dict(reversed(members().items()))), "not in their order"),
    "compressed": (lambda: zipped(list(members().items()), zipfile.ZIP_DEFLATED), "compressed"),
    "encrypted": (lambda: patched(6, b"\x01\x00"), "encrypted"),
    "a data descriptor": (lambda: patched(6, b"\x08\x00"), "header of mimetype"),
    "ZIP64": (zip64, "ZIP64"),
    "an extra field": (
        lambda: DATA[:28] + b"\x04\x00" + DATA[30:38] + b"\x99\x99\x00\x00" + DATA[38:],
        "header of mimetype",
    ),
    "two sizes": (lambda: patched(18, b"\x20"), "header of mimetype"),
    "another date": (lambda: patched(10, b"\x01\x00"), "directory"),
    "a directory of others": (other_directory, "directory"),
    "a damaged member": (lambda: patched(40, b"X"), "mimetype in this bundle is damaged"),
    "another type": (lambda: packed(mimetype=b"application/epub+zip"), "its mimetype"),
    "no synopsis": (lambda: packed(synopsis_bin=b"counts"), "synopsis.bin in this bundle"),
    "a synopsis of a larger grid": (lambda: packed(synopsis_bin=stored() + b"\0" * 8), "larger than it can be"),
    "a synopsis of a smaller grid": (lambda: packed(synopsis_bin=stored()[:-8]), "no rugnik synopsis"),
    "a large text": (lambda: packed(terms_txt=b"x" * (2**24 + 1)), "terms.txt in this bundle is larger"),
    "no text": (lambda: packed(terms_txt=b"\xff"), "no UTF-8"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_anything_else_is_refused_in_a_sentence(case: str) -> None:
    """The sentence says what is wrong, and names the member."""
    make, words = REFUSED[case]
    with pytest.raises(UnfitBundle) as refused:
        Bundle.from_bytes(make())
    assert words in str(refused.value)
    assert re.fullmatch(r".+\.", str(refused.value))


def test_every_single_changed_byte_is_noticed() -> None:
    """There is one archive for given members: no byte of it is free."""
    for place in range(len(DATA)):
        with pytest.raises(UnfitBundle):
            Bundle.from_bytes(patched(place, bytes([DATA[place] ^ 1])))


def test_a_file_beyond_the_fixed_limit_is_not_read(tmp_path: Path) -> None:
    """Its size is looked at before its bytes."""
    file = tmp_path / "large.rugnik"
    with file.open("wb") as sparse:
        sparse.truncate(2**32)
    with pytest.raises(UnfitBundle, match="larger than 4 GiB"):
        Bundle.open(file)


def test_what_no_reader_takes_is_not_written() -> None:
    """A bundle that could not be opened is refused when it is made."""
    with pytest.raises(UnfitBundle, match="synopsis"):
        bundle_with(b"counts")
    with pytest.raises(UnfitBundle, match=r"card\.json"):
        Bundle(stored(), b"", b"x" * (2**24 + 1), b"", "", "")


@pytest.mark.parametrize("file", sorted(STORED.glob("*.synopsis")), ids=lambda file: file.stem)
def test_the_limit_of_a_synopsis_follows_from_its_grid(file: Path) -> None:
    """Of every cell it is the size itself; of listed cells it is never less than the size."""
    data = file.read_bytes()
    most = most_bytes(data)
    assert most is not None
    assert most == len(data) if file.stem.startswith("dense") else most >= len(data)
