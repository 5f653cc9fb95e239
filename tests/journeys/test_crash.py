"""SIGKILL at every step of an upload: one charge, at most one draw, and every readable draw was paid for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import psycopg
import pytest

from app.access.keys import issue_key
from app.access.permissions import Role
from app.main import make_service
from app.settings.settings import Settings
from tests.support.processes.mortal import STEPS
from tests.support.processes.server import Server
from tests.support.service.api import ATTRIBUTES, CSV, ROWS

DRAWN = STEPS.index("once the draw is committed")
PUBLISHED = STEPS.index("once it is committed")


def curator_key(settings: Settings) -> str:
    """A key made without a server."""
    service = make_service(settings)
    key = issue_key(service, name="curator", role=Role.CURATOR, datasets=None)[1]
    service.database.dispose()
    return key


def uploaded_until_death(mortal: Server, headers: dict[str, str], **order: object) -> str:
    """The path of a release whose upload the service did not survive."""
    with httpx.Client(base_url=mortal.url, headers=headers, timeout=60) as client:
        dataset = {"name": "city", "attributes": ATTRIBUTES, "budget": "1"}
        assert client.post("/v1/datasets", json=dataset).status_code == 201
        body = {"epsilon": "0.5", "clusters": 4} | order
        path = f"/v1/releases/{client.post('/v1/datasets/city/releases', json=body).json()['id']}"
        with pytest.raises(httpx.TransportError):
            client.put(f"{path}/records", content=ROWS, headers=CSV)
    mortal.process.wait(timeout=60)
    return path


LAYERED = {"rule": "adaptive", "size": {"declared": 1000}}  # its rows wait in a buffer while noise is drawn


@pytest.mark.parametrize(("step", "terms"), [*((step, {}) for step in STEPS), ("once the noise is drawn", LAYERED)])
def test_an_upload_that_dies_draws_at_most_once_for_its_charge(
    settings: Settings, serve: Callable[..., Server], step: str, terms: dict[str, object]
) -> None:
    """Before the draw is on record the order is open, and the next PUT publishes at no charge. After it the release is
    published or burnt: no void, no second draw, and its epsilon is spent."""
    headers = {"Authorization": f"Bearer {curator_key(settings)}"}
    path = uploaded_until_death(serve(settings, module=["tests.support.processes.mortal", step]), headers, **terms)
    number = STEPS.index(step)
    state = "published" if number >= PUBLISHED else "burnt" if number >= DRAWN else "ordered"

    with httpx.Client(base_url=serve(settings).url, headers=headers, timeout=60) as client:
        standing = client.get(path).json()
        assert standing["state"] == state
        assert ("layered" in (standing["plan"]["grid"] or {})) == bool(terms)
        again = client.put(f"{path}/records", content=ROWS, headers=CSV)
        assert again.status_code == (200 if state == "ordered" else 409)
        if state != "ordered":
            assert (again.json()["state"], again.json()["synopsis"]) == (state, standing["synopsis"])
        assert client.delete(path).status_code == 409
        assert client.get("/v1/datasets/city").json()["budget"]["spent"] == "0.5"
        entries = client.get("/v1/ledger", params={"dataset": "city"}).json()["entries"]
        last = [] if state == "burnt" else ["publish"]
        assert [entry["kind"] for entry in entries] == ["grant", "charge", "draw", *last]
        if state == "burnt":
            other = client.post("/v1/datasets/city/releases", json={"epsilon": "0.5", "clusters": 4}).json()["id"]
            assert client.put(f"/v1/releases/{other}/records", content=ROWS, headers=CSV).status_code == 200


def test_a_draw_that_a_crash_left_on_the_disk_is_paid_for(
    settings: Settings, serve: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A synopsis of millions of cells is inserted and not committed: its bytes lie in the files of both databases.
    So its epsilon stays spent, and no second draw is made for it."""
    kept = tmp_path / "drawn"
    monkeypatch.setenv("DRAWN_FILE", str(kept))
    headers = {"Authorization": f"Bearer {curator_key(settings)}"}
    mortal = serve(settings, module=["tests.support.processes.mortal", "once its ledger entry is inserted"])
    path = uploaded_until_death(mortal, headers, size={"declared": 8 * 10**9})
    drawn = kept.read_bytes()
    assert len(drawn) > 2 * 10**6  # more than SQLite keeps in memory before a commit
    probes = [drawn[place : place + 48] for place in range(1000, len(drawn) - 48, len(drawn) // 40)]
    files = database_files(settings)
    assert any(probe in body for probe in probes for body in files), "the search must be able to find a draw"

    with httpx.Client(base_url=serve(settings).url, headers=headers, timeout=60) as client:
        assert client.get(path).json()["state"] == "burnt"
        assert client.delete(path).status_code == 409
        assert client.put(f"{path}/records", content=ROWS, headers=CSV).status_code == 409
        assert client.get("/v1/datasets/city").json()["budget"]["spent"] == "0.5"


def database_files(settings: Settings) -> list[bytes]:
    """Every file of the database, its write-ahead log included, as whoever reads the disk sees it."""
    folder = settings.data_dir
    if settings.database_url is not None:
        with psycopg.connect(settings.database_url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            row = connection.execute("SHOW data_directory").fetchone()
            assert row is not None
            folder = Path(row[0])
    return [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
