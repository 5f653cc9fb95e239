"""Why a file lacks a column, or cannot be read at all: its first bytes, looked at on the curator's machine alone.

A first line may be a row, and messages may end up in a log. So its words are repeated only where they are like the name
of a wanted column, or where such a name stands beside them.
"""

from __future__ import annotations

import csv
import re
import shlex
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from gzip import open as gzip_open
from pathlib import Path

_HEAD_BYTES = 2**20
LONGEST_LINE = 2**16
_SHOWN_NAMES = 20
_VALUE = re.compile(r"[-+.]?\d[-+.,:/\dTZeE ]*")  # a number, a date or a time
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_COMMA = "Write it with commas: in a spreadsheet program, save it as 'CSV UTF-8 (comma delimited)'"
_DECIMALS = "Numbers then need a decimal point as well: 1.5, not 1,5."


def head_of(file: Path) -> bytes:
    """The first bytes of a file, after gzip if its name says so; nothing where it cannot be read."""
    with (
        suppress(OSError, EOFError),
        gzip_open(file, "rb") if file.suffix.lower() == ".gz" else file.open("rb") as rows,
    ):
        return rows.read(_HEAD_BYTES)
    return b""


def advice(file: Path, wanted: Sequence[str], *, lacking: Sequence[str] = ()) -> list[str]:
    """Sentences about a file in which columns are lacking, or that no reader takes; none where nothing is noticed."""
    head = head_of(file)
    kind = _other_kind(file, head)
    if kind is not None:
        return [kind]
    if b"\0" in head or head.startswith(b"PAR1"):
        return []
    line = head.partition(b"\n")[0].rstrip(b"\r").removeprefix(b"\xef\xbb\xbf")
    return list(_about_names(file, line, wanted, lacking))


def header_names(file: Path, *, gzip: bool, errors: str = "strict") -> list[str]:
    """The columns that the first line of a CSV file names. Raises OSError, csv.Error, and UnicodeDecodeError."""
    with gzip_open(file, "rb") if gzip else file.open("rb") as rows:
        line = rows.readline(LONGEST_LINE).decode("utf-8-sig", errors)
    return [name.strip(" \t") for name in next(csv.reader([line], strict=True), []) if name.strip(" \t")]


def is_utf8(file: Path) -> bool:
    """Whether the beginning of a file is UTF-8, as far as it was read."""
    head = head_of(file)
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return len(head) == _HEAD_BYTES and error.start > _HEAD_BYTES - 4  # a character that was cut
    return True


def to_utf8(file: Path, encoding: str) -> str:
    """The command that makes a copy of a file in UTF-8."""
    copy = file.with_name(f"{file.stem}-utf8{file.suffix}")
    return f"iconv -f {encoding} -t UTF-8 {shlex.quote(str(file))} > {shlex.quote(str(copy))}"


def _other_kind(file: Path, head: bytes) -> str | None:  # noqa: PLR0911 - one for each kind
    """What the file is, if that is another kind than its name says."""
    if head.startswith(b"PK\x03\x04") and (b"xl/" in head or file.suffix.lower().startswith(".xls")):
        return f"{file.name} is an Excel workbook. Save its sheet as 'CSV UTF-8 (comma delimited)', and give that file."
    if head.startswith(b"PK\x03\x04"):
        return (
            f"{file.name} is a zip archive, or a spreadsheet. Unpack it, or save the sheet as CSV in UTF-8 with commas."
        )
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        return f"{file.name} is an old Excel workbook. Save its sheet as CSV in UTF-8 with commas, and give that file."
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or _looks_utf16(head):
        return f"{file.name} is UTF-16, and rows are read as UTF-8. Make a copy: {to_utf8(file, 'UTF-16')}"
    if head.startswith(b"\x1f\x8b") and file.suffix.lower() != ".gz":
        return f"{file.name} is compressed with gzip: end its name in .gz."
    if head.startswith(b"PAR1") and file.suffix.lower() not in {".parquet", ".pq"}:
        return f"{file.name} is a Parquet file: end its name in .parquet."
    return None


def _looks_utf16(head: bytes) -> bool:
    """Every second byte of the first line is zero, as of Latin letters without a byte order mark."""
    start = head[:64]
    return len(start) >= 8 and (not any(start[::2]) or not any(start[1::2])) and any(start)


def _about_names(file: Path, line: bytes, wanted: Sequence[str], lacking: Sequence[str]) -> Iterator[str]:
    text = line.decode("utf-8", "surrogateescape")
    otherwise = separated(text)
    if otherwise:
        yield otherwise
        text = text.replace(next(sign for sign in _SEPARATORS if sign in text), ",")
    is_latin = any("\udc80" <= sign <= "\udcff" for sign in text)
    if is_latin:
        text = line.decode("latin-1")
        yield f"The first line is not UTF-8, perhaps Latin-1. Make a copy: {to_utf8(file, 'LATIN1')}"
    names = [name.strip(' \t"') for name in text.split(",")]
    renamed = renamings(lacking or wanted, names)
    yield from renamed if otherwise else suggestions(lacking or wanted, names, wanted)
    if not text.strip():
        yield "The first line is empty; it must name the columns."


def separated(line: str) -> str:
    """What to do about a first line that is separated by something else than commas; empty where it is not."""
    name = next((name for sign, name in _SEPARATORS.items() if sign in line), None)
    if name is None or "," in line:
        return ""
    return f"The first line is separated by {name}, and columns are read between commas. {_COMMA}. {_DECIMALS}"


def suggestions(lacking: Sequence[str], names: Sequence[str], wanted: Sequence[str]) -> Iterator[str]:
    """What to do where wanted names are lacking: rename columns, choose among those of the file, or name them."""
    renamed = renamings(lacking, names)
    if renamed:
        yield from renamed
    elif lacking and set(wanted) & set(names):
        shown = ", ".join(map(printable, names[:_SHOWN_NAMES])) + (", …" if len(names) > _SHOWN_NAMES else "")
        yield f"The file has: {shown}."
    elif lacking and any(names):
        first = "holds no names, but a row" if holds_values(names) else "names none of the columns that are looked for"
        yield f"Its first line {first}. If it is a row, put this line before it: {','.join(wanted)}"


def renamings(lacking: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names in the file that are probably meant where wanted names are lacking; no sentence where none is."""
    plain = {_plain(name): name for name in names if name}
    renamed = []
    for name in lacking:
        near = plain.get(_plain(name)) or next(
            (plain[each] for each in get_close_matches(_plain(name), list(plain), n=1, cutoff=0.75)), None
        )
        if near is not None and name not in names:
            case = " (another case)" if name.casefold() == near.casefold() else ""
            renamed.append(f"'{printable(near)}' to '{name}'{case}")
    if not renamed:
        return []
    return [
        f"Probably meant, so rename in the file: {', '.join(renamed)}.",
        "Or write the file's names in the schema, as long as the dataset is not registered.",
    ]


def holds_values(names: Sequence[str]) -> bool:
    """Whether what should be names of columns are values: one is a number, a date or a time."""
    return any(_VALUE.fullmatch(name) for name in names)


def printable(name: str) -> str:
    """A name that a terminal shows and does not obey."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in name)


def _plain(name: str) -> str:
    """A name without case, blanks, signs and accents."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(sign for sign in letters if sign.isalnum())
