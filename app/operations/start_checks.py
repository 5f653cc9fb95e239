"""Before the first request: what a start needs, tried at once, and whatever is amiss told in one sentence.

A folder is tried by writing to a nameless file in it, since modes alone do not tell of read-only mounts or full disks.
"""

from __future__ import annotations

import errno
import fcntl
import resource
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from app.errors import CannotStart
from app.operations.process_privacy import keep_files_private
from app.settings.database_url import place_of
from app.settings.settings import Settings
from app.storage.database import Database

log = structlog.get_logger(__name__)

SPARE_FILES = 200  # for the database's connections, spools, logs and libraries


def prepare_folders(settings: Settings) -> None:
    """The folders of data, witness and spool exist and can be written to, or CannotStart."""
    prepare_data_folder(settings)
    close_to_others(settings)
    witness = settings.witness_path.resolve()
    with _refused("RUGNIK_WITNESS", witness.parent):
        witness.parent.mkdir(parents=True, exist_ok=True)
        _try_writing(witness.parent)
    for path in (witness, settings.secret_path):
        with _refused("RUGNIK_WITNESS", path, "read"), suppress(FileNotFoundError):
            path.open("rb").close()
    if settings.spool_dir is not None:
        with _refused("RUGNIK_SPOOL_DIR", settings.spool_dir):
            _try_writing(settings.spool_dir)
        return
    try:
        _try_writing(Path(tempfile.gettempdir()))
    except OSError:
        raise CannotStart("No temporary folder can be written to: set RUGNIK_SPOOL_DIR to one that can.") from None


def prepare_data_folder(settings: Settings) -> None:
    """The folder of the embedded database exists and can be written to, or CannotStart. New files are private."""
    keep_files_private()
    if settings.database_url is None:
        with _refused("RUGNIK_DATA_DIR", settings.data_dir):
            settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            _try_writing(settings.data_dir)


def close_to_others(settings: Settings) -> None:
    """Make files of the database and the witness private that an earlier version left readable; warn of a folder.

    SQLite gives the files beside a database the mode of the database.
    """
    files = [settings.witness_path, Path(f"{settings.witness_path}.lock")]
    if settings.url.get_backend_name() == "sqlite":
        database = Path(settings.url.database or "")
        files += [Path(f"{database}{suffix}") for suffix in ("", "-wal", "-shm", ".serving")]
        if open_to_others(database.parent):
            log.warning("data_folder_open_to_others", path=str(database.parent), mend=f"chmod 700 {database.parent}")
    for path in files:
        with suppress(OSError):  # another user's file: `rugnik doctor` tells
            if open_to_others(path):
                path.chmod(0o600)


def open_to_others(path: Path) -> bool:
    """Whether users other than its owner can read, write or enter something; False where there is nothing."""
    try:
        return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except FileNotFoundError:
        return False


def unwritable_folder(settings: Settings) -> str | None:
    """The setting whose folder cannot be written to now, if any: asked while the service runs, so nothing is made."""
    folders = {
        "RUGNIK_WITNESS": settings.witness_path.resolve().parent,
        "RUGNIK_SPOOL_DIR": settings.spool_dir or Path(tempfile.gettempdir()),
    }
    url = settings.url
    if url.get_backend_name() == "sqlite":
        folders["RUGNIK_DATA_DIR" if settings.database_url is None else "RUGNIK_DATABASE_URL"] = Path(
            url.database or ""
        ).parent
    for setting, folder in folders.items():
        try:
            _try_writing(folder)
        except OSError:
            return setting
    return None


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


def require_files(connections: int) -> None:
    """As many open files as the connections take and SPARE_FILES beside them, or CannotStart; workers inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + SPARE_FILES
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise CannotStart(
            f"RUGNIK_MAX_CONNECTIONS={connections} takes {needed} open files, and this process may have {hard}. "
            "Raise its limit (ulimit -n, LimitNOFILE), or lower RUGNIK_MAX_CONNECTIONS."
        )
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed if hard == resource.RLIM_INFINITY else hard, hard))


def _try_writing(folder: Path) -> None:
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(4096))


@contextmanager
def _refused(name: str, path: Path, verb: str = "written to") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CannotStart(f"{name}: {path.absolute()} cannot be {verb} ({error.strerror}).") from None
