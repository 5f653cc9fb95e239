"""Before the first request: what a start needs, tried at once, and whatever is amiss told in one sentence.

A folder is tried by making a nameless file in it, since modes alone do not tell of read-only mounts or full disks.
"""

from __future__ import annotations

import errno
import fcntl
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from app.config import Settings
from app.database import Database
from app.database_url import place_of
from app.errors import CannotStart


def prepare_folders(settings: Settings) -> None:
    """The folders of data, witness and spool exist and can be written to, or CannotStart."""
    prepare_data_folder(settings)
    witness = settings.witness_path.resolve()
    with _refused("RUGNIK_WITNESS", witness.parent):
        witness.parent.mkdir(parents=True, exist_ok=True)
        _try_writing(witness.parent)
    with _refused("RUGNIK_WITNESS", witness, "read"), suppress(FileNotFoundError):
        witness.open("rb").close()
    if settings.spool_dir is not None:
        with _refused("RUGNIK_SPOOL_DIR", settings.spool_dir):
            _try_writing(settings.spool_dir)
        return
    try:
        _try_writing(Path(tempfile.gettempdir()))
    except OSError:
        raise CannotStart("No temporary folder can be written to: set RUGNIK_SPOOL_DIR to one that can.") from None


def prepare_data_folder(settings: Settings) -> None:
    """The folder of the embedded database exists and can be written to, or CannotStart."""
    if settings.database_url is None:
        with _refused("RUGNIK_DATA_DIR", settings.data_dir):
            settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            _try_writing(settings.data_dir)


@contextmanager
def database_errors(database: Database) -> Iterator[None]:
    """Whatever a database says at the start, as CannotStart with its first line; it never contains a password."""
    try:
        yield
    except SQLAlchemyError as error:
        said = str(error.orig).splitlines() if isinstance(error, DBAPIError) and error.orig else []
        why = said[0] if said else type(error).__name__
        raise CannotStart(f"The database cannot be used ({place_of(database.url)}): {why}") from None


@contextmanager
def serving_alone(database: Database) -> Iterator[None]:
    """One service to one SQLite file; its workers count as one. PostgreSQL may be shared by any number."""
    if not database.is_sqlite:
        yield
        return
    path = Path(f"{database.url.database}.serving")
    with _refused("The database's folder", path.parent):
        lock = path.open("wb")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotStart(
                f"Another rugnik serves {database.url.database} already. "
                "Give that one more --workers, or use PostgreSQL for several services."
            ) from None
        yield


def require_free(host: str, port: int) -> None:
    """An address that can be listened on, or CannotStart; found out before anything is made or printed."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CannotStart(
                f"Port {port} on {host} is taken. Stop what listens there, or choose another with --port."
            ) from None
        raise CannotStart(f"Cannot listen on {host}, port {port}: {error.strerror or 'no such address'}.") from None


def _try_writing(folder: Path) -> None:
    tempfile.TemporaryFile(dir=folder).close()


@contextmanager
def _refused(name: str, path: Path, verb: str = "written to") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CannotStart(f"{name}: {path.absolute()} cannot be {verb} ({error.strerror}).") from None
