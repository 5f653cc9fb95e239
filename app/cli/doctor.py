"""`rugnik doctor`: checks everything that a service needs, and says how to repair it. It changes nothing."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.exits import Code
from app.cli.options import AsJson
from app.cli.output import show_json

if TYPE_CHECKING:
    from app.settings.settings import Settings
    from app.storage.database import Database

GOOD, DOUBTFUL, BAD = "ok", "look", "mend"
_SLACK = timedelta(minutes=5)
_ENDS = ("", "-wal", "-shm")  # the files of a SQLite database


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; the field names are those of the JSON output.

    about     what was checked
    state     GOOD, DOUBTFUL or BAD
    observed  what the check saw
    mend      what to do about it, empty if nothing
    """

    about: str
    state: str
    observed: str
    mend: str = ""


def doctor(
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="A folder with SQLite in it, such as the demo's, in place of RUGNIK_DATA_DIR.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check database, witness, ledger, entropy, permissions, clock and disk of the service that would run here.

    The exit code is 1 if something must be repaired. Uses the same RUGNIK_…
    variables as `rugnik serve`; with --data-dir, that folder's own database
    and witness.

    \b
    Example:
      RUGNIK_DATA_DIR=/var/lib/rugnik/data rugnik doctor
      rugnik doctor --data-dir rugnik-data-demo/data
    """
    from app.operations.observability import configure_logging
    from app.operations.server import read_settings

    settings = read_settings()
    configure_logging(settings.log_level)  # to standard error: standard output is for the findings
    findings = list(examine(settings if data_dir is None else _of_folder(settings, data_dir)))
    if as_json:
        show_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            typer.echo(f"{finding.state:<4}  {finding.about:<11}  {finding.observed}")
            if finding.mend:
                typer.echo(f"{'':<19}-> {finding.mend}")
    if any(finding.state == BAD for finding in findings):
        raise typer.Exit(code=Code.REFUSED)


def _of_folder(settings: Settings, folder: Path) -> Settings:
    """Settings for the SQLite database in `folder`, and the witness beside it."""
    return settings.model_copy(update={"data_dir": folder, "database_url": None, "witness": None})


def examine(settings: Settings) -> Iterator[Finding]:
    """Yield the result of every check. Checks that depend on something broken are left out."""
    yield from _variables()
    yield _folder(settings)
    yield from _secrets(settings)
    yield from _database(settings)
    yield _entropy()
    yield _disk(settings)


def _variables() -> Iterator[Finding]:
    """Variables RUGNIK_… that name no setting, so that the setting that is meant has its default."""
    from app.settings.unknown import unknown_variables

    for name, nearest in unknown_variables(os.environ).items():
        mend = "unset it: nothing reads it" if nearest is None else f"rename it, if {nearest} is meant"
        yield Finding("variable", DOUBTFUL, f"{name} is no setting", mend)


def _folder(settings: Settings) -> Finding:
    from app.operations.start_checks import open_to_others

    folder = settings.data_dir
    if settings.database_url is not None and not folder.exists():
        return Finding("data folder", GOOD, "not used: the database is elsewhere")
    if not folder.exists():
        return Finding("data folder", DOUBTFUL, f"{folder} is not there yet", "the first 'rugnik serve' makes it")
    if not os.access(folder, os.W_OK | os.X_OK):
        return Finding("data folder", BAD, f"{folder} cannot be written to", f"chown it to this user: {os.getuid()}")
    if open_to_others(folder):
        return Finding("data folder", BAD, f"{folder} is open to other users", f"chmod 700 {folder}")
    return Finding("data folder", GOOD, f"{folder} is yours alone")


def _secrets(settings: Settings) -> Iterator[Finding]:
    """Files that contain a key, and files with which a person who can write them could reset a budget."""
    from app.operations.start_checks import open_to_others

    for path in sorted(settings.data_dir.glob("*.env")):
        if open_to_others(path):
            yield Finding("key file", BAD, f"{path} is open to other users", f"chmod 600 {path}")
        else:
            yield Finding("key file", GOOD, f"{path} is yours alone")
    if settings.url.get_backend_name() == "sqlite":
        database = settings.url.database
        readable = [path for path in (Path(f"{database}{end}") for end in _ENDS) if open_to_others(path)]
        if readable:
            listed = " ".join(map(str, readable))
            yield Finding("database", BAD, f"{listed}: open to other users", f"chmod 600 {listed}")
    folder = settings.secrets_dir
    if folder is not None:
        # Containers need readable secret files; then the mode of the folder keeps other users out.
        if open_to_others(folder) and any(open_to_others(path) for path in folder.glob("rugnik_*")):
            yield Finding("secrets", BAD, f"{folder} has secrets that other users can read", f"chmod 700 {folder}")
        else:
            yield Finding("secrets", GOOD, f"{folder} is closed to other users")
    secret = settings.secret_path
    if secret.exists() and open_to_others(secret):
        yield Finding("secret", BAD, f"{secret} is open to other users", f"chmod 600 {secret}")
    witness = settings.witness_path
    if witness.exists() and witness.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield Finding("witness", BAD, f"{witness} can be written by other users", f"chmod 600 {witness}")


def _database(settings: Settings) -> Iterator[Finding]:
    from sqlalchemy.exc import SQLAlchemyError

    from app.storage.database import Database

    if settings.database_url is None and not settings.sqlite_path.exists():
        yield Finding("database", DOUBTFUL, "there is none yet", "the first 'rugnik serve' makes it")
        return
    database = Database(settings.url)
    try:
        yield from _reached(settings, database)
    except SQLAlchemyError as error:
        yield Finding(
            "database", BAD, f"not reached ({type(error).__name__})", "start it, and check address, user and password"
        )
    finally:
        database.dispose()


def _reached(settings: Settings, database: Database) -> Iterator[Finding]:
    pending = database.pending_migrations()
    yield Finding("database", GOOD, f"{database.url.get_backend_name()} answers")
    if pending:
        yield Finding("migrations", BAD, "the schema is of another version", "rugnik migrate")
        return
    yield Finding("migrations", GOOD, "up to date")
    yield _witness(settings, database)
    yield from _log_key(settings, database)
    yield _chain(database)
    yield _clock(database)


def _witness(settings: Settings, database: Database) -> Finding:  # noqa: PLR0911 - one for each finding
    from app.errors import CannotStart, LedgerBroken
    from app.ledger.entries import head, holds
    from app.ledger.replay import Replay
    from app.ledger.witness import NOTHING_SEEN, Witness
    from core.ledger.entry import EMPTY

    path = settings.witness_path
    try:
        seen = Witness(path).seen()
        with database.read_only() as tx:
            current, agrees = head(tx), holds(tx, Replay(database), seen)
    except LedgerBroken:
        return Finding("witness", DOUBTFUL, "cannot be compared: the ledger does not verify", "mend the ledger first")
    except (CannotStart, OSError):
        return Finding("witness", BAD, f"{path} cannot be read", "bring back a copy of it, or mend its permissions")
    if not agrees:
        return Finding(
            "witness",
            BAD,
            f"saw {seen.size} entries, which this ledger does not hold; it ends at {current.seq}",
            "restore the newest copy of the database: this one is older, or another",
        )
    if not os.access(path if path.exists() else _existing(path), os.W_OK):
        return Finding("witness", BAD, f"{path} cannot be written to", "let this user write it, and its folder")
    if path.resolve().parent == database.folder:
        return Finding(
            "witness", DOUBTFUL, "is in the same folder as the database", "set RUGNIK_WITNESS to another disk"
        )
    if seen == NOTHING_SEEN and current != EMPTY:
        return Finding("witness", DOUBTFUL, f"{path} is missing", "the next start writes it; was it lost?")
    return Finding("witness", GOOD, f"agrees with the ledger at entry {seen.size}")


def _log_key(settings: Settings, database: Database) -> Iterator[Finding]:
    """Whether the log's key is there, and is the one on record, as a start wants it; nothing where no log is begun."""
    from sqlalchemy import select

    from app.errors import CannotStart, LedgerBroken
    from app.ledger.replay import Replay
    from app.log.signing import open_log, place_of_key, require_key_on_record
    from app.storage.tables import log as log_table

    with database.read_only() as tx:
        if tx.execute(select(log_table)).first() is None:
            return
    replay, place = Replay(database), place_of_key(settings)
    try:
        log = open_log(settings, database)
        replay.refresh()
        require_key_on_record(log, replay.books, place)
    except LedgerBroken:
        return  # said of the ledger
    except CannotStart as error:
        observed, _, mend = str(error).partition(". ")
        yield Finding("log key", BAD, observed, mend)
    except OSError as error:
        yield Finding("log key", BAD, f"{place} cannot be read ({error.strerror})", "let this user read it")
    else:
        yield Finding("log key", GOOD, f"{place}, and on record")


def _chain(database: Database) -> Finding:
    """Verify every entry from the first on, as a start does."""
    from app.errors import LedgerBroken
    from app.ledger.replay import Replay

    replay = Replay(database)
    try:
        replay.refresh()
    except LedgerBroken as error:
        where = f"not good from entry {error.outcome.first_bad} on: {error.outcome.reason}"
        return Finding("ledger", BAD, where, "put the newest good copy of the database in place")
    return Finding("ledger", GOOD, f"all {replay.head.seq} entries hold")


def _clock(database: Database) -> Finding:
    """Compare the clock with the day of the newest entry, which must not be in the future. No time server is asked."""
    from app.ledger.entries import newest_day

    with database.read_only() as tx:
        newest = newest_day(tx)
    now = datetime.now(UTC)
    if newest is not None and newest > f"{now + _SLACK:%Y-%m-%d}":
        return Finding(
            "clock", BAD, f"it is {now:%Y-%m-%d %H:%M} UTC here, and the ledger is ahead", "set the clock: timedatectl"
        )
    return Finding("clock", GOOD, f"{now:%Y-%m-%d %H:%M} UTC, not before the ledger's newest entry")


def _entropy() -> Finding:
    """Draw from the operating system, as the noise does; early after a boot it may not have enough entropy yet."""
    getrandom: Callable[..., bytes] | None = getattr(os, "getrandom", None)
    try:
        drawn = getrandom(32, os.GRND_NONBLOCK) if getrandom else os.urandom(32)
    except (BlockingIOError, OSError):
        return Finding("entropy", BAD, "the operating system has none yet", "wait a minute; in a VM, add virtio-rng")
    return Finding("entropy", GOOD, f"{8 * len(drawn)} bits at once")


def _disk(settings: Settings) -> Finding:
    folder = settings.spool_dir or Path(tempfile.gettempdir())
    if not os.access(folder, os.W_OK):
        return Finding("spool", BAD, f"{folder} cannot be written to", "set RUGNIK_SPOOL_DIR to a folder of this user")
    free, wanted = shutil.disk_usage(folder).free, settings.max_spool_bytes * settings.max_uploads
    space = f"{free / 2**30:,.1f} GiB free in {folder}, {wanted / 2**30:,.1f} GiB for the largest uploads at once"
    if free < wanted:
        return Finding("spool", DOUBTFUL, space, "free some, or lower RUGNIK_MAX_SPOOL_BYTES or RUGNIK_MAX_UPLOADS")
    return Finding("spool", GOOD, space)


def _existing(path: Path) -> Path:
    """The nearest parent folder that exists."""
    return next(parent for parent in path.resolve().parents if parent.exists())
