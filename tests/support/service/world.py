"""World: one application with a dataset and a release in every state, for tests that look at it from all sides."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from app.access.keys import issue_key
from app.access.permissions import Role
from app.main import create_app
from app.settings.settings import Settings
from tests.support.service.api import Api, frozen_clock

# Small enough to be exceeded by a test, large enough for everything else.
CAPS: dict[str, Any] = {
    "max_cells": 10_000,
    "max_upload_bytes": 100_000,
    "max_inflated_bytes": 200_000,
    "max_upload_rows": 2_000,
    "max_upload_columns": 8,
    "max_spool_bytes": 50_000,
}
_names = count()


@dataclass(frozen=True)
class World:
    """Three datasets: `city` with a release in each state, `shut`, closed with an order left open, and `other`."""

    api: Api
    ordered: str
    published: str
    void: str
    shut_order: str
    limited: dict[Role, str]  # keys that are limited to `other`
    revoked: str

    def fresh(self, budget: str = "1") -> str:
        """A dataset that nobody else uses."""
        name = f"fresh{next(_names)}"
        assert self.api.register(name, budget).status_code == 201
        return name

    def fresh_order(self) -> str:
        """An order that nobody else uses."""
        return str(self.api.order(self.fresh()).json()["id"])

    def fresh_request(self) -> str:
        """A request that nobody else decides: a third key asks to raise a two-person rule."""
        name = self.fresh()
        assert self.api.curator("POST", f"/v1/datasets/{name}/rule", json={"above": "0.1"}).status_code == 200
        third = issue_key(self.api.service, name="third", role=Role.CURATOR, datasets=None)[1]
        asked = self.api.call_with(third, "POST", f"/v1/datasets/{name}/rule", json={"above": "0.5"})
        assert asked.status_code == 202
        return str(asked.json()["id"])

    def head(self) -> dict[str, Any]:
        """Where the ledger ends."""
        head: dict[str, Any] = self.api.auditor("GET", "/v1/ledger/head").json()
        return head


@contextmanager
def opened_world(folder: Path, **changes: Any) -> Iterator[World]:
    """A World on SQLite with small caps, changed as asked."""
    settings = Settings(data_dir=folder / "data", **(CAPS | {"log_level": "error"} | changes))
    with Api(create_app(settings, frozen_clock)) as api:
        for name in ("city", "shut", "other"):
            assert api.register(name).status_code == 201
        ordered, void = (str(api.order().json()["id"]) for _ in range(2))
        assert api.curator("DELETE", f"/v1/releases/{void}").status_code == 200
        shut_order = str(api.order("shut").json()["id"])
        assert api.curator("POST", "/v1/datasets/shut/close").status_code == 200
        published = api.published()  # before keys: their entries bring it into the log's next checkpoint
        revoked = api.admin("POST", "/v1/keys", json={"name": "gone", "role": "admin"}).json()
        assert api.admin("DELETE", f"/v1/keys/{revoked['id']}").status_code == 204
        limited = {
            role: issue_key(api.service, name=f"limited {role}", role=role, datasets=frozenset({"other"}))[1]
            for role in Role
        }
        yield World(
            api=api,
            ordered=ordered,
            published=published,
            void=void,
            shut_order=shut_order,
            limited=limited,
            revoked=str(revoked["key"]),
        )
