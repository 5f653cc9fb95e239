"""SIGKILL at every step of an upload: one charge, one synopsis, and nobody saw anything in between."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from app.auth import Role, issue_key
from app.config import Settings
from app.main import make_service
from tests.support.api import ATTRIBUTES, CSV, ROWS
from tests.support.mortal import STEPS
from tests.support.server import Server

PUBLISHED_BEFORE_DEATH = {"once it is committed", "once it is witnessed"}


def curator_key(settings: Settings) -> str:
    """A key made without a server."""
    service = make_service(settings)
    key = issue_key(service, name="curator", role=Role.CURATOR, datasets=None)[1]
    service.database.dispose()
    return key


@pytest.mark.parametrize("step", STEPS)
def test_an_upload_that_dies_is_repeated_for_nothing(
    settings: Settings, serve: Callable[..., Server], step: str
) -> None:
    """After the restart the release is either published with a digest, or ordered and taken up by the next PUT."""
    headers = {"Authorization": f"Bearer {curator_key(settings)}"}
    mortal = serve(settings, module=["tests.support.mortal", step])
    with httpx.Client(base_url=mortal.url, headers=headers) as client:
        dataset = {"name": "city", "attributes": ATTRIBUTES, "budget": "1"}
        assert client.post("/v1/datasets", json=dataset).status_code == 201
        order = client.post("/v1/datasets/city/releases", json={"epsilon": "0.5", "clusters": 4})
        records = f"/v1/releases/{order.json()['id']}/records"
        with pytest.raises(httpx.TransportError):
            client.put(records, content=ROWS, headers=CSV)
    mortal.process.wait(timeout=60)

    with httpx.Client(base_url=serve(settings).url, headers=headers) as client:
        found = client.get(records.removesuffix("/records")).json()
        assert found["state"] == ("published" if step in PUBLISHED_BEFORE_DEATH else "ordered")
        again = client.put(records, content=ROWS, headers=CSV)
        assert again.status_code == (409 if step in PUBLISHED_BEFORE_DEATH else 200)
        if step in PUBLISHED_BEFORE_DEATH:
            assert again.json()["synopsis"] == found["synopsis"]
        assert client.get("/v1/datasets/city").json()["budget"]["spent"] == "0.5"
        kinds = [entry["kind"] for entry in client.get("/v1/ledger").json()["entries"]]
        assert kinds == ["grant", "charge", "publish"]
