"""The real service, a real witness, and an auditor who follows it with the command."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from pydantic import SecretStr
from typer.testing import CliRunner, Result

from app.access.permissions import Role
from app.cli import main
from app.ingest.formats import MediaType
from app.log import checkpoints
from app.main import make_service
from app.releases import datasets, ordering, uploading
from app.settings.settings import Settings
from core.budget import Epsilon
from core.log.checkpoint import Checkpoint
from core.log.note import Note
from tests.support.databases.books import CURATOR, DOMAIN, ROWS, an_order, filled_ledger
from tests.support.processes.witness import running_witness
from tests.support.service.api import frozen_clock
from tests.support.service.live import Live, opened_live
from tests.support.signed_log import ORIGIN, log_key


def follow(live: Live, *arguments: object, role: Role = Role.AUDITOR, code: int = 0) -> Result:
    """`rugnik ledger follow` as somebody with a role."""
    env: dict[str, str | None] = {name: None for name in os.environ if name.startswith("RUGNIK_")}
    env |= {"RUGNIK_URL": live.url, "RUGNIK_KEY": live.keys[role]}
    done = CliRunner().invoke(main, ["ledger", "follow", *map(str, arguments)], env=env)
    assert done.exit_code == code, (done.output, done.exception)
    return done


def requests(live: Live) -> list[str]:
    """The paths that were asked for since the last call."""
    seen = [path for _, path in live.gate.seen]
    live.gate.seen.clear()
    return seen


def test_an_auditor_follows_a_service(settings: Settings, tmp_path: Path) -> None:
    """All entries, then the new ones in three requests, then none in one."""
    state = tmp_path / "state"
    with opened_live(settings.model_copy(update={"checkpoint_seconds": 0})) as live:
        filled_ledger(live.service, orders=3)
        requests(live)
        assert str(live.service.log.verifier) in follow(live, state).stderr
        assert requests(live) == ["/log/checkpoint", "/log/policy", "/v1/ledger"]
        ordering.order(live.service, CURATOR, "a", an_order("0.1"), idempotency_key=None)
        assert follow(live, state).stdout.startswith("1 new entries hold")
        assert requests(live) == ["/log/checkpoint", "/v1/ledger/consistency", "/v1/ledger"]
        assert follow(live, state).stdout.startswith("0 new entries hold")
        assert requests(live) == ["/log/checkpoint"]
        with live.client(Role.AUDITOR) as client:
            (tmp_path / "policy").write_text(client.log_policy())
        follow(live, state, "--policy", tmp_path / "policy")
        follow(live, tmp_path / "another", role=Role.ANALYST, code=6)


def test_a_service_with_a_witness_is_followed_with_its_policy(sqlite_settings: Settings, tmp_path: Path) -> None:
    """The checkpoint that an auditor accepts carries the signature of the witness, in a process of its own."""
    secret = log_key()
    policy, state = tmp_path / "policy", tmp_path / "state"
    with running_witness(tmp_path / "w", secret.verifier, name="w1") as witness:
        policy.write_text(f"log {secret.verifier}\n{witness.line}quorum w1\n")
        update = {
            "origin": ORIGIN,
            "log_key": SecretStr(secret.secret.to_pem().decode()),
            "policy": policy,
            "checkpoint_seconds": 0,
        }
        with opened_live(sqlite_settings.model_copy(update=update)) as live:
            filled_ledger(live.service, orders=2)
            live.service.cosigner.sign_newest(live.service)
            assert "Witnesses that signed it: w1." in follow(live, state, "--policy", policy).stdout
            with live.client(Role.AUDITOR) as client:
                note = Note.parse(client.log_checkpoint())
            assert len(note.signed_by([secret.verifier, witness.key])) == 2
            assert Checkpoint.of(note).size == live.service.replay.tree.size


def test_what_a_checkpoint_has_shown_is_not_taken_back(settings: Settings) -> None:
    """Neither by a restart nor by another worker: that would look like a log whose end was cut off."""
    now = [frozen_clock()]
    timed = settings.model_copy(update={"checkpoint_seconds": 3600})
    first, other = (make_service(timed, lambda: now[0]) for _ in range(2))
    datasets.register(first, CURATOR, name="a", description="", domain=DOMAIN, budget=Epsilon.parse("1"))
    release = ordering.order(first, CURATOR, "a", an_order("0.1"), idempotency_key=None)
    shown = Checkpoint.of(checkpoints.newest(first)).size
    uploading.upload(first, CURATOR, release.id, iter([ROWS]), media_type=MediaType.CSV, gzip=False)
    assert Checkpoint.of(checkpoints.newest(first)).size == shown  # when it was published is private
    now[0] += timedelta(hours=1)
    restarted = make_service(timed, lambda: now[0])
    sizes = [Checkpoint.of(checkpoints.newest(each)).size for each in (restarted, first, other, restarted)]
    assert sizes == [shown + 2] * 4
    for service in (first, other, restarted):
        service.database.dispose()
