"""A ledger of 200 entries of every kind, with synopses, stored answers, keys, checkpoints and a witness file.

All of it is made by the real service over its own routes; only the log's key is rotated as the command does it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from app.access.permissions import Role
from app.log.rotation import rotate
from app.main import create_app, make_service
from app.settings.settings import Settings
from core.ledger.kinds import Kind
from tests.support.service.api import ATTRIBUTES, CSV, Api, frozen_clock
from tests.support.service.counting import COUNTS, counts_body

ENTRIES = 200
ROWS = b"age,income\n" + b"30,400\n60,700\n" * 10
_ORDER: dict[str, Any] = {"epsilon": "0.001", "clusters": 1, "size": {"declared": 20}}


def make(settings: Settings, entries: int = ENTRIES) -> dict[Role, str]:
    """Fill an empty database; the keys of the callers. The last entry is a charge, the newest checkpoint is older."""
    with Api(create_app(settings, frozen_clock)) as api:
        keys = api.keys
        _Curators(api).first_acts()
    with _service(settings) as service:
        rotate(service)
    with Api(create_app(settings, frozen_clock), keys=keys) as api:
        curators = _Curators(api)
        turn = 0
        while (missing := entries - api.service.replay.head.seq) > 0:
            if missing >= _LONGEST_ACT:
                curators.act(turn)
            else:
                curators.ordered("city")
            turn += 1
        lines = api.auditor("GET", "/v1/ledger/export").text
        assert all(f'"kind":"{kind.value}"' in lines for kind in Kind), "an entry of every kind"
    return dict(keys)


@contextmanager
def _service(settings: Settings) -> Iterator[Any]:
    service = make_service(settings, frozen_clock)
    try:
        yield service
    finally:
        service.database.dispose()


_LONGEST_ACT = 4  # entries: a request, its approval, a draw and a publication


class _Curators:
    """Two persons who order, upload, approve and refuse; each act is a few entries."""

    def __init__(self, api: Api) -> None:
        self.api = api
        issued = api.admin("POST", "/v1/keys", json={"name": "second", "role": "curator"})
        self.second = str(self._good(issued).json()["key"])

    def _good(self, reply: Any) -> Any:
        assert reply.is_success, reply.text
        return reply

    def first_acts(self) -> None:
        """Datasets, a layered release that is counted elsewhere and waits, a dataset that is closed."""
        api = self.api
        for name, above in (("city", None), ("pair", "0.002"), ("shut", None)):
            body = {"name": name, "attributes": ATTRIBUTES, "budget": "9"}
            extra = {} if above is None else {"two_persons_above": above}
            self._good(api.curator("POST", "/v1/datasets", json=body | extra))
        counted = self.ordered("city", rule="adaptive", epsilon="8", clusters=1, size={"declared": 500})
        counts = counts_body(api, counted)
        self._good(api.curator("PUT", f"/v1/releases/{counted}/counts", content=counts, headers=COUNTS))
        self.ordered("shut")
        self._good(api.curator("POST", "/v1/datasets/shut/close"))

    def ordered(self, name: str, **changes: Any) -> str:
        """An order that is charged."""
        return str(self._good(self.api.order(name, **(_ORDER | changes))).json()["id"])

    def act(self, turn: int) -> None:
        """One of six kinds, in turn; what publishes less often."""
        rarely = (self._publish, self._void, self._approve, self._refuse)
        (*rarely, self._keys, self._order, self._void, self._order)[turn % 8]()

    def _publish(self) -> None:
        release = self.ordered("city")
        self._good(self.api.upload(release, ROWS, CSV))
        # An answer that is stored, and a receipt, for which a checkpoint is kept.
        self._good(self.api.analyst("GET", f"/v1/releases/{release}/clusters?k=1&method=projected"))
        self._good(self.api.analyst("GET", f"/v1/releases/{release}/receipt"))

    def _void(self) -> None:
        self._good(self.api.curator("DELETE", f"/v1/releases/{self.ordered('city')}"))
        self._good(self.api.admin("POST", "/v1/datasets/city/grants", json={"epsilon": "0.001", "reason": "more"}))

    def _approve(self) -> None:
        asked = self._good(self.api.order("pair", **(_ORDER | {"epsilon": "0.003"}))).json()
        self._good(self.api.call_with(self.second, "POST", f"/v1/requests/{asked['id']}/approve"))
        self._good(self.api.upload(asked["release"], ROWS, CSV))

    def _order(self) -> None:
        self.ordered("pair")

    def _keys(self) -> None:
        issued = self._good(self.api.admin("POST", "/v1/keys", json={"name": "desk", "role": "analyst"})).json()
        self._good(self.api.admin("DELETE", f"/v1/keys/{issued['id']}"))

    def _refuse(self) -> None:
        asked = self._good(self.api.order("pair", **(_ORDER | {"epsilon": "0.003"}))).json()
        body = {"reason": "twice"}
        self._good(self.api.call_with(self.second, "POST", f"/v1/requests/{asked['id']}/refuse", json=body))
