"""SIGKILL at every step between an entry and its sealed checkpoint: the next start goes on, and everything verifies."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from app.access.keys import issue_key
from app.access.permissions import Role
from app.main import make_service
from app.settings.settings import Settings
from core.log.checkpoint import Checkpoint
from core.log.note import Note
from core.log.receipt import Receipt
from tests.support.processes.mortal_log import STEPS
from tests.support.processes.server import Server
from tests.support.service.api import ATTRIBUTES, CSV, ROWS
from tests.support.service.cosigned import with_witnesses


def keys_of(settings: Settings) -> dict[Role, dict[str, str]]:
    """Headers with keys that were made without a server."""
    service = make_service(settings)
    keys = {role: issue_key(service, name=role, role=role, datasets=None)[1] for role in (Role.CURATOR, Role.AUDITOR)}
    thread = service.cosigner._thread
    if thread is not None:
        thread.join()
    service.database.dispose()
    return {role: {"Authorization": f"Bearer {key}"} for role, key in keys.items()}


def until_good(ask: Callable[[], httpx.Response], holds: Callable[[httpx.Response], bool]) -> httpx.Response:
    """Ask until the reply is as it should be: the witnesses are asked meanwhile, on a machine that may be busy."""
    for _ in range(600):
        reply = ask()
        if holds(reply):
            return reply
        assert reply.status_code in (200, 409, 503), reply.text
        time.sleep(0.1)
    raise AssertionError(reply.text)


def until_signed(client: httpx.Client, auditor: dict[str, str]) -> None:
    """Wait until the quorum has signed everything, so that the next entry is the one that dies."""
    head = client.get("/v1/ledger/head", headers=auditor).json()["seq"]
    until_good(
        lambda: client.get("/log/checkpoint"),
        lambda reply: reply.is_success and Checkpoint.of(Note.parse(reply.text)).size == head,
    )


def uploaded(client: httpx.Client, release: str) -> httpx.Response:
    """The reply to the rows of a release, once a quorum has signed its charge."""
    return until_good(
        lambda: client.put(f"/v1/releases/{release}/records", content=ROWS, headers=CSV),
        lambda reply: reply.is_success,
    )


@pytest.mark.parametrize("step", STEPS)
def test_a_charge_whose_signing_dies_is_whole_or_not_there(
    settings: Settings, serve: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Before the commit nothing was charged. After it the entry is there once, is witnessed again by whoever comes
    next, and its release is published with a receipt that a quorum signed."""
    armed = tmp_path / "armed"
    monkeypatch.setenv("ARMED_FILE", str(armed))
    order = {"epsilon": "0.5", "clusters": 4, "size": {"declared": 500}}
    with with_witnesses(settings, tmp_path, checkpoint_seconds=0) as cosigned:
        keys = keys_of(cosigned.settings)
        mortal = serve(cosigned.settings, module=["tests.support.processes.mortal_log", step])
        with httpx.Client(base_url=mortal.url, headers=keys[Role.CURATOR], timeout=60) as client:
            dataset = {"name": "city", "attributes": ATTRIBUTES, "budget": "1"}
            assert client.post("/v1/datasets", json=dataset).status_code == 201
            first = client.post("/v1/datasets/city/releases", json=order).json()["id"]
            uploaded(client, first)
            until_signed(client, keys[Role.AUDITOR])
            armed.touch()
            with suppress(httpx.TransportError):
                client.post("/v1/datasets/city/releases", json=order)
        mortal.process.wait(timeout=60)
        armed.unlink()

        with httpx.Client(base_url=serve(cosigned.settings).url, headers=keys[Role.CURATOR], timeout=60) as client:
            is_committed = step != "before the commit"
            charges = client.get("/v1/ledger", params={"dataset": "city", "kind": "charge"}).json()["entries"]
            assert len(charges) == 1 + is_committed
            assert client.get("/v1/datasets/city").json()["budget"]["spent"] == ("1" if is_committed else "0.5")
            if not is_committed:
                client.post("/v1/datasets/city/releases", json=order).raise_for_status()
                charges = client.get("/v1/ledger", params={"dataset": "city", "kind": "charge"}).json()["entries"]
            release = charges[-1]["release"]
            uploaded(client, release)
            for each in (first, release):
                address = f"/v1/releases/{each}/receipt"
                receipt = until_good(lambda asked=address: client.get(asked), lambda reply: reply.is_success)
                assert Receipt.parse(receipt.text).require(cosigned.policy).release == each
            auditor = keys[Role.AUDITOR]
            assert client.get("/v1/ledger/verify", headers=auditor).json()["valid"]
            head = client.get("/v1/ledger/head", headers=auditor).json()["seq"]
            seen = Checkpoint.of(Note.parse(cosigned.settings.witness_path.read_text()))
            assert seen.size == head
            until_good(lambda: client.get("/readyz"), lambda reply: reply.is_success)
