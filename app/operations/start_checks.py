"""Checks before the first request: folders, file modes, database, port, number of open files.

Each check raises CannotStart with one sentence to act on. A folder is checked by writing to an unlinked file in it,
because file modes say nothing about read-only mounts or full disks.
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

SPARE_FILES = 200  # open files for database connections, spools, logs and libraries


def prepare_folders(settings: Settings) -> None:
    """Create missing folders of data and witness; CannotStart if one of them or the spool is not writable."""
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
    """Create the folder of the SQLite database if it is missing; CannotStart if it is not writable.

    Also sets the umask, so that new files are private.
    """
    keep_files_private()
    if settings.database_url is None:
        with _refused("RUGNIK_DATA_DIR", settings.data_dir):
            settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            _try_writing(settings.data_dir)


def close_to_others(settings: Settings) -> None:
    """Make database and witness files private that an earlier version left readable; log a warning for the folder.

    SQLite gives its -wal and -shm files the mode of the database file.
    """
    files = [settings.witness_path, Path(f"{settings.witness_path}.lock")]
    if settings.url.get_backend_name() == "sqlite":
        database = Path(settings.url.database or "")
        files += [Path(f"{database}{suffix}") for suffix in ("", "-wal", "-shm", ".serving")]
        if open_to_others(database.parent):
            log.warning("data_folder_open_to_others", path=str(database.parent), mend=f"chmod 700 {database.parent}")
    for path in files:
        with suppress(OSError):  # a file of another user: `rugnik doctor` reports it
            if open_to_others(path):
                path.chmod(0o600)


def open_to_others(path: Path) -> bool:
    """Whether group or others have any permission on a path; False if it does not exist."""
    try:
        return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except FileNotFoundError:
        return False


def unwritable_folder(settings: Settings) -> str | None:
    """The name of a setting whose folder is not writable now, or None. For a running service: creates no folder."""
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
    """Turn an error of the database into CannotStart with its first line, which never contains a password."""
    try:
        yield
    except SQLAlchemyError as error:
        lines = str(error.orig).splitlines() if isinstance(error, DBAPIError) and error.orig else []
        why = lines[0] if lines else type(error).__name__
        raise CannotStart(f"The database cannot be used ({place_of(database.url)}): {why}") from None


@contextmanager
def serving_alone(database: Database) -> Iterator[None]:
    """Hold a file lock on a SQLite database; CannotStart if another service holds it.

    A service and its workers share one lock. Any number of services may share a PostgreSQL database.
    """
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
    """CannotStart if the service cannot listen on this address. Called before anything is created or printed."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CannotStart(
                f"Port {port} on {host} is taken. Stop what listens there, or choose another with --port."
            ) from None
        raise CannotStart(f"Cannot listen on {host}, port {port}: {error.strerror or 'no such address'}.") from None


def require_files(connections: int) -> None:
    """Raise the limit of open files to `connections` + SPARE_FILES, or CannotStart. Workers inherit the limit."""
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
