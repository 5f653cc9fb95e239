"""The reply to a COMMIT is lost on the way: what was committed counts once, and what is repeated is not had twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy.engine import make_url

from app.main import create_app
from app.settings.settings import Settings
from tests.support.databases.forwarder import DeafForwarder
from tests.support.service.api import Api, frozen_clock


@pytest.fixture
def wired(postgresql_settings: Settings) -> Iterator[tuple[Api, DeafForwarder]]:
    """A service that reaches PostgreSQL over a wire that can lose a reply."""
    url = make_url(postgresql_settings.database_url or "")
    with DeafForwarder(f"{url.query['host']}/.s.PGSQL.5432") as wire:
        through = url.set(host="127.0.0.1", port=wire.port, query={}).render_as_string(hide_password=False)
        settings = postgresql_settings.model_copy(update={"database_url": through})
        with Api(create_app(settings, frozen_clock)) as api:
            api.register()
            yield api, wire


def kinds(api: Api) -> list[str]:
    """The ledger of the dataset, by kinds."""
    return [entry["kind"] for entry in api.curator("GET", "/v1/ledger").json()["entries"]]


def test_an_order_whose_commit_was_not_heard_of_is_charged_once(wired: tuple[Api, DeafForwarder]) -> None:
    """503 says to repeat it with its key, which finds the charge."""
    api, wire = wired
    lost = wire.lose_next_commit()
    refused = api.order(headers={"Idempotency-Key": "a"})
    assert lost.wait(30)
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:rugnik:problem:database-unavailable")
    assert kinds(api) == ["grant", "charge"]
    assert api.order(headers={"Idempotency-Key": "a"}).status_code == 201
    assert kinds(api) == ["grant", "charge"]
    assert api.budget()["spent"] == "0.5"


def test_a_draw_whose_commit_was_not_heard_of_is_spent(wired: tuple[Api, DeafForwarder]) -> None:
    """Nobody can know that nothing was drawn for it: burnt, and never drawn for again."""
    api, wire = wired
    release = api.order().json()["id"]
    lost = wire.lose_next_commit()
    assert api.upload(release).status_code == 503
    assert lost.wait(30)
    assert kinds(api) == ["grant", "charge", "draw"]
    assert (api.upload(release).status_code, api.curator("DELETE", f"/v1/releases/{release}").status_code) == (409, 409)
    assert api.auditor("GET", "/v1/ledger/verify").json()["valid"] is True
