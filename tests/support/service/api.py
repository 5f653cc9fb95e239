"""Api: the application in this process, and a client for each role."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Self

from anyio.from_thread import start_blocking_portal
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient, Response

from app.access.keys import issue_key
from app.access.permissions import Role
from app.answers.answers import Answers
from app.http.middleware.hot_answers import HotAnswers
from app.service import Service
from tests.support.service.workers import lend_workers

ATTRIBUTES = [{"name": "age", "lower": 0, "upper": 100}, {"name": "income", "lower": 0, "upper": 1000}]
CSV = {"Content-Type": "text/csv"}
ROWS = b"age,income\n" + b"".join(b"%d,%d\n" % (i % 100, (7 * i) % 1000) for i in range(500))


def frozen_clock() -> datetime:
    """A clock that stands still."""
    return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Api:
    """One application with its lifespan, spoken to as admin, curator, analyst, auditor or nobody."""

    def __init__(self, app: FastAPI, keys: Mapping[Role, str] | None = None) -> None:
        self.app = app
        lend_workers(app)
        transport = ASGITransport(app, raise_app_exceptions=False)
        # Cookies are sent where a test says so, and never because an earlier reply set one.
        forgetful = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        self._client = AsyncClient(transport=transport, base_url="http://rugnik", cookies=forgetful)
        self._exits = ExitStack()
        self.keys = dict(keys) if keys is not None else {role: self._issued(role) for role in Role}

    def _issued(self, role: Role) -> str:
        return issue_key(self.service, name=role.value, role=role, datasets=None)[1]

    def __enter__(self) -> Self:
        self._portal = self._exits.enter_context(start_blocking_portal())
        return self

    def __exit__(self, *_: object) -> None:
        self._portal.call(self._client.aclose)
        self._exits.close()
        self.app.state.answers.close()
        self.service.database.dispose()

    @property
    def service(self) -> Service:
        """The Service behind the application."""
        service: Service = self.app.state.service
        return service

    def call(self, role: Role | None, method: str, path: str, **options: Any) -> Response:
        """One request with the key of a role, or with none."""
        return self.call_with(self.keys[role] if role else None, method, path, **options)

    def call_with(self, key: str | None, method: str, path: str, **options: Any) -> Response:
        """One request with any key."""
        headers = dict(options.pop("headers", {}))
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        return self._portal.call(partial(self._client.request, method, path, headers=headers, **options))

    def curator(self, method: str, path: str, **options: Any) -> Response:
        """One request as curator."""
        return self.call(Role.CURATOR, method, path, **options)

    def analyst(self, method: str, path: str, **options: Any) -> Response:
        """One request as analyst."""
        return self.call(Role.ANALYST, method, path, **options)

    def auditor(self, method: str, path: str, **options: Any) -> Response:
        """One request as auditor."""
        return self.call(Role.AUDITOR, method, path, **options)

    def admin(self, method: str, path: str, **options: Any) -> Response:
        """One request as admin."""
        return self.call(Role.ADMIN, method, path, **options)

    def register(self, name: str = "city", budget: str = "3", attributes: Any = ATTRIBUTES) -> Response:
        """A dataset to work with."""
        body = {"name": name, "attributes": attributes, "budget": budget}
        return self.curator("POST", "/v1/datasets", json=body)

    def order(self, name: str = "city", *, headers: Any = None, **changes: Any) -> Response:
        """An order with a declared size, changed as asked."""
        body = {"epsilon": "0.5", "clusters": 4, "size": {"declared": 500}} | changes
        return self.curator("POST", f"/v1/datasets/{name}/releases", json=body, headers=headers or {})

    def upload(self, release_id: str, rows: Any = ROWS, headers: Any = CSV) -> Response:
        """The rows of a release."""
        return self.curator("PUT", f"/v1/releases/{release_id}/records", content=rows, headers=headers)

    def published(self, rows: bytes = ROWS, **changes: Any) -> str:
        """The id of a release of `city`, published with these rows."""
        release_id = str(self.order(**changes).json()["id"])
        assert self.upload(release_id, rows).status_code == 200
        return release_id

    def forget_answers(self) -> None:
        """What a restart does to the memory of a worker."""
        answers = Answers(self.service)
        answers.long = self.app.state.answers.long  # worker processes take a second to start
        self.app.state.answers = answers
        self.app.state.hot_answers.answers = answers
        self.app.state.hot_answers._kept = HotAnswers(self.service, answers)._kept

    def budget(self, name: str = "city") -> dict[str, str]:
        """What is granted, spent and left."""
        budget: dict[str, str] = self.curator("GET", f"/v1/datasets/{name}").json()["budget"]
        return budget
