"""Files by name: paths, globs, folders and addresses such as s3://bucket/trips/*.parquet.

Addresses are opened by pyarrow (file, s3, gs, hdfs, abfs) or, where it does not know the scheme, by fsspec. A folder
stands for all of its files. `year=2024` in the name of a folder is a hive partition: a column of all rows below it.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from pyarrow import fs

from app.ingest.formats import MediaType
from rugnik.bodies import kind_of

_GLOB = frozenset("*?[")


class NoFiles(Exception):
    """Files that cannot be counted, in a sentence that says why."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file: its path, the address of its file system, its kind, its length, and the partitions it lies in.

    The address is empty for this machine.
    """

    path: str
    address: str
    media_type: MediaType
    gzip: bool
    size: int
    partitions: tuple[tuple[str, str], ...] = ()

    def opened(self) -> tuple[fs.FileSystem, str]:
        """The file system and the path in it. Opened anew in each process, because connections are not sent."""
        return file_system(self.address)[0], self.path


def find_files(names: Iterable[str], media_type: MediaType | None = None) -> list[SourceFile]:
    """All files that the names stand for, in order of their names, each once. Raises NoFiles."""
    files = {(each.address, each.path): each for name in names for each in _find(name, media_type)}
    return [files[place] for place in sorted(files)]


def file_system(address: str) -> tuple[fs.FileSystem, str]:
    """The file system of an address, and the path in it; NoFiles where nobody knows how to open it."""
    if not address:
        return fs.LocalFileSystem(), ""
    try:
        system, path = fs.FileSystem.from_uri(address)
    except (OSError, ValueError):
        return _by_fsspec(address)
    return system, path


def _by_fsspec(address: str) -> tuple[fs.FileSystem, str]:
    scheme = address.partition("://")[0]
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - needed for few addresses
    except ImportError:
        raise NoFiles(f"{scheme}:// needs fsspec: pip install fsspec and its package for {scheme}.") from None
    try:
        system, path = url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise NoFiles(f"{scheme}:// cannot be opened: {error}") from None
    return fs.PyFileSystem(fs.FSSpecHandler(system)), path


def _find(name: str, media_type: MediaType | None) -> list[SourceFile]:
    listed = _listed(name) if "://" in name else _on_this_machine(name)
    files = [_source(path, address, size, media_type) for path, address, size in listed]
    if not files:
        raise NoFiles(f"No file is found at {name}. Put a pattern in quotes, so that the shell leaves it alone.")
    return files


def _on_this_machine(name: str) -> list[tuple[str, str, int]]:
    """(path, "", bytes) of a file, of all files in a folder and below it, or of those that a pattern stands for."""
    path = Path(name)
    if path.is_file():
        return [(str(path.absolute()), "", path.stat().st_size)]
    if path.is_dir():
        below = [each for each in path.rglob("*") if _is_data(each.relative_to(path).parts)]
    else:
        below = [Path(each) for each in glob.glob(name, recursive=True)]  # noqa: PTH207 - an absolute pattern too
    return [(str(each.absolute()), "", each.stat().st_size) for each in below if each.is_file()]


def _listed(address: str) -> list[tuple[str, str, int]]:
    """(path, address of its file system, bytes) of the same for an address."""
    scheme, _, place = address.partition("://")
    parts = place.split("/")
    plain = next((x for x, part in enumerate(parts) if _GLOB & set(part)), len(parts))
    root = f"{scheme}://{'/'.join(parts[:plain])}"
    system, folder = file_system(root)
    pattern = parts[plain:]
    try:
        info = system.get_file_info(folder)
        if info.type is not fs.FileType.File:
            selector = fs.FileSelector(folder, recursive=True, allow_not_found=True)
            infos = [each for each in system.get_file_info(selector) if each.type is fs.FileType.File]
        else:
            infos = [info]
    except OSError as error:
        raise NoFiles(f"{address} cannot be read: {error}") from None
    inner = [(each, each.path[len(folder) :].strip("/").split("/")) for each in infos]
    chosen = [each for each, below in inner if (_matches(below, pattern) if pattern else _is_data(below))]
    return [(each.path, root, each.size or 0) for each in chosen]


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a pattern, one by one; ** stands for any number of them."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[x:], pattern[1:]) for x in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _is_data(parts: Sequence[str]) -> bool:
    """Whether a file in a folder is neither hidden nor a marker of a writer, such as _SUCCESS."""
    return not any(part.startswith((".", "_")) for part in parts)


def _source(path: str, address: str, size: int, media_type: MediaType | None) -> SourceFile:
    by_name, gzip = kind_of(path)
    kind = media_type.value if media_type is not None else by_name
    if kind is None:
        raise NoFiles(f"What {path} holds is not told by its name: give --media-type, or name fewer files.")
    folders = [folder.partition("=") for folder in PurePosixPath(path).parts[:-1] if "=" in folder]
    pairs = tuple((unquote(key), unquote(value)) for key, _, value in folders)
    return SourceFile(path, address, MediaType(kind), gzip, size, pairs)
