"""One attempt to meddle with a table beside the ledger: made while a service runs, and again before one starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from sqlalchemy import make_url

from app.errors import CannotStart
from app.settings.settings import Settings
from tests.support.databases.used import Deeds, Used, differing, refused
from tests.support.service.api import Api
from torture.tampering.beside import TableEdit, apply
from torture.tampering.fates import Fate, fate_of


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done otherwise than before, what was refused, and whether somebody noticed."""

    differing: list[str]
    refused: list[str]
    noticed: bool


@dataclass(frozen=True, slots=True)
class Attempts:
    """On copies of a service that is in use. `untouched` is what it does where nobody meddles."""

    used: Used
    untouched: Deeds

    def failure(self, edit: TableEdit) -> str | None:
        """What did not hold of an edit; None where it has the fate that it should have."""
        running, stopped = self._running(edit), self._stopped(edit)
        about = f"{edit.table.name}, {edit.about}"
        for outcome in (running, stopped):
            if outcome.differing:
                return f"{about}: done otherwise than before: {', '.join(outcome.differing)}"
        fate = fate_of(edit.table.name, edit.what)
        noticed, away = running.noticed or stopped.noticed, running.refused or stopped.refused
        seen = Fate.NOTICED if noticed else Fate.REFUSED if away else Fate.HARMLESS
        return None if seen is fate else f"{about}: {seen.name}, and not {fate.name}"

    def _running(self, edit: TableEdit) -> Outcome:
        with self.copied() as settings, self.used.opened(settings) as api:
            apply(edit, settings)
            return self._outcome(api)

    def _stopped(self, edit: TableEdit) -> Outcome:
        with self.copied() as settings:
            apply(edit, settings)
            try:
                opened = self.used.opened(settings)
            except CannotStart:
                return Outcome([], [], noticed=True)
            with opened as api:
                return self._outcome(api)

    def _outcome(self, api: Api) -> Outcome:
        done = self.used.deeds(api)
        verified = api.auditor("GET", "/v1/ledger/verify")
        return Outcome(differing(done, self.untouched), refused(done), noticed=verified.json()["valid"] is False)

    @contextmanager
    def copied(self) -> Iterator[Settings]:
        """A copy of the service's folder and database, which is gone afterwards."""
        with copied(self.used) as settings:
            yield settings


@contextmanager
def copied(used: Used) -> Iterator[Settings]:
    """The same for a service of which nothing else is known."""
    with TemporaryDirectory(dir=used.folder.parent) as folder:
        settings = used.copy(Path(folder))
        yield settings
        if used.server is not None:
            with psycopg.connect(used.server, autocommit=True) as connection:
                connection.execute(f"DROP DATABASE {make_url(settings.url).database}".encode())
