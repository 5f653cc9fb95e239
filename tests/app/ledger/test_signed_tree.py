"""Checkpoints on record, as a verification of the whole ledger compares them with the entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Row, insert

from app.ledger import signed_tree
from app.ledger.verification import verify_all, verify_steps
from app.main import make_service
from app.service import Service
from app.settings.settings import Settings
from app.storage.tables import checkpoints
from core.log.checkpoint import Checkpoint
from tests.support.databases.books import filled_ledger
from tests.support.service.api import frozen_clock


@pytest.fixture
def service(settings: Settings) -> Iterator[Service]:
    """A ledger with two checkpoints for each size before its last; on each kind of database."""
    made = make_service(settings, frozen_clock)
    filled_ledger(made, orders=4)
    made.replay.refresh()
    sizes = range(1, made.replay.tree.size)
    with made.database.transaction() as tx:
        rows = [(size, sealed, str(made.checkpoint(size))) for size in sizes for sealed in (False, True)]
        tx.execute(insert(checkpoints), [dict(zip(("size", "sealed", "note"), row, strict=True)) for row in rows])
    yield made
    made.database.dispose()


def test_checkpoints_are_checked_along_with_the_entries(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them once, and none before the walk has come to its size: so there is progress from the first entry."""
    real, checked = signed_tree.fault_of, []

    def noted(service: Service, row: Row[Any]) -> str | None:
        checked.append(row.size)
        return real(service, row)

    monkeypatch.setattr(signed_tree, "fault_of", noted)
    monkeypatch.setattr(signed_tree, "_BATCH", 3)
    size = service.replay.tree.size
    for number, step in enumerate(verify_steps(service, every=1), start=1):
        assert step.valid
        assert checked == [each for each in range(1, min(number + 1, size)) for _ in range(2)]


@pytest.mark.parametrize(("edit", "says"), [("root", "not those that a checkpoint"), ("size", "more entries")])
def test_the_last_checkpoint_counts_as_well(service: Service, edit: str, says: str) -> None:
    """One of another tree, and one of more entries than there are."""
    size = service.replay.tree.size
    honest = Checkpoint.of(service.checkpoint(size))
    changed = replace(honest, root=bytes(32)) if edit == "root" else replace(honest, size=size + 1)
    with service.database.transaction() as tx:
        tx.execute(
            insert(checkpoints).values(size=changed.size, sealed=False, note=str(changed.signed(*service.log.keys)))
        )
    outcome = verify_all(service)
    assert not outcome.valid
    assert says in str(outcome.reason)
