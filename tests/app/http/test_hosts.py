"""Host is the caller's word: no reply follows it, and a service that knows its names answers to no other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.access.permissions import Role
from app.main import create_app
from app.settings.settings import Settings
from tests.contracts.test_roles import MATRIX, PAGES
from tests.support.service.api import Api, frozen_clock

EVIL = {"Host": "evil.example"}


@pytest.mark.parametrize("path", sorted({path for _, path in {*MATRIX, *PAGES}} | {"/sign-in", "/sign-out"}))
def test_no_redirect_follows_the_host_header(sqlite_api: Api, path: str) -> None:
    """With a slash too many or too few, signed in or not, by any method: no Location names another host."""
    for address in (path.rstrip("/") + "/", path, "//evil.example/", path + "//"):
        for role in (None, Role.CURATOR):
            for method in ("GET", "POST", "PUT"):
                reply = sqlite_api.call(role, method, f"http://rugnik{address}", headers=EVIL)
                assert "evil.example" not in reply.headers.get("location", "").partition("?")[0]
                assert "evil" not in reply.headers.get("location", "").replace("%2F%2Fevil.example", "")


@pytest.fixture
def named(sqlite_settings: Settings) -> Iterator[Api]:
    """A service that has two names."""
    settings = sqlite_settings.model_copy(update={"allowed_hosts": "rugnik, Stats.Example"})
    with Api(create_app(settings, frozen_clock)) as opened:
        yield opened


@pytest.mark.parametrize("host", ["rugnik", "RUGNIK:8000", "stats.example", "stats.example:443"])
def test_a_service_answers_to_its_names(named: Api, host: str) -> None:
    """Whatever the port and the letters' case."""
    assert named.curator("GET", "/v1/datasets", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "rugnik.evil.example", "", "rugnik:evil", "[::1]"]
)
def test_a_service_does_not_answer_to_other_names(named: Api, host: str) -> None:
    """421 as a problem that names the setting and not the host; probes of health are asked by address."""
    for path in ("/v1/datasets", "/", "/sign-in", "/metrics"):
        reply = named.curator("GET", path, headers={"Host": host})
        assert (reply.status_code, reply.json()["type"]) == (421, "urn:rugnik:problem:misdirected-request")
        assert "RUGNIK_ALLOWED_HOSTS" in reply.json()["detail"]
        assert "evil" not in reply.text
    for path in ("/healthz", "/readyz"):
        assert named.curator("GET", path, headers={"Host": host}).status_code == 200
