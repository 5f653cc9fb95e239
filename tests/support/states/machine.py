"""ServiceMachine: every action that changes a state, done to a real service and to the specification.

After each step the reply, the balances, the states and every entry of the ledger have to be those of the
specification, and the ledger has to pass the replay of `torture.model`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from decimal import Decimal
from typing import Any

from httpx import Response
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.support.states.comparing import reply_of, require_same
from tests.support.states.nouns import OWN_ADMIN, Limits, Refused, Reply, Terms
from tests.support.states.running import ADMIN_KEY, Place, Running
from tests.support.states.specification import Specification

LIMITS = Limits(budget=Decimal(3), datasets=2, open_orders=3, keys=6)
_ATTRIBUTES = [{"name": "x", "lower": 0, "upper": 1}]
_FILES = {None: b"x\n0.5\n0.7\n", "unreadable-upload": b"", "unfit-columns": b"y\n0.5\n"}  # by the problem with it

# Names of keys. Mostly those act who may; the further ones are issued on the way.
_CURATORS, _ADMINS, _FURTHER = ["curator 1", "curator 2"], ["admin 1", "admin 2"], ["further 1", "further 2"]
_curator = st.sampled_from(_CURATORS * 8 + _ADMINS + _FURTHER)
_admin = st.sampled_from(_ADMINS * 8 + _CURATORS + _FURTHER)
_anybody = st.sampled_from(_CURATORS * 3 + _ADMINS * 2 + _FURTHER)
_revocable = st.sampled_from(_FURTHER * 4 + _CURATORS + _ADMINS)
_names = st.sampled_from(["city"] * 8 + ["town"] * 3 + ["farm"])
_epsilons = st.sampled_from(("0.1", "0.1", "0.3", "1", "2.5")).map(Decimal)
_thresholds = st.sampled_from((None, "0", "0.2", "0.5")).map(lambda text: None if text is None else Decimal(text))
_terms = st.builds(Terms, _epsilons, clusters=st.sampled_from((2, 3)), buys_size=st.booleans())
_repeated = st.sampled_from((Terms(Decimal("0.1")), Terms(Decimal("0.3")), Terms(Decimal("0.3"), clusters=3)))
_roles = st.sampled_from(("curator", "admin", "analyst", "auditor"))
_reaches = st.sampled_from((None, None, frozenset({"city"}), frozenset({"town"})))
_back = st.integers(0, 4)  # how far back in the list of releases, or of requests: 0 is the newest
_seldom = precondition(lambda self: self.steps % 4 == 0)  # what would end or stop most of the work


class ServiceMachine(RuleBasedStateMachine):
    """The service, the specification, and the keys that act."""

    place: Place
    seen: Counter[Reply]

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.exits = ExitStack()
        self.running = Running(self.exits.enter_context(self.place()))
        self.exits.callback(self.running.close)
        self.specified = Specification(LIMITS)
        self.ids, self.secrets = {"admin 1": OWN_ADMIN}, {OWN_ADMIN: ADMIN_KEY}  # by the name, and by the id, of a key
        self.releases: list[str] = []  # ordered, or asked for

    def teardown(self) -> None:
        """A full verification by the service itself."""
        with self.exits:
            verified = self.running.call(ADMIN_KEY, "GET", "/v1/ledger/verify").json()
            assert verified["valid"], verified

    @invariant()
    def agrees(self) -> None:
        """Balances, states and the ledger."""
        self.steps += 1
        require_same(self.specified, lambda path: self.running.call(ADMIN_KEY, "GET", path))

    @initialize(above=st.sampled_from((Decimal(0), Decimal("0.2"), None)))
    def begin(self, above: Decimal | None) -> None:
        """Keys that act, and a dataset to work on."""
        for name in ("curator 1", "curator 2", "admin 2", *_FURTHER):
            self.issue("admin 1", name, "admin" if "admin" in name else "curator", None)
        self.register("curator 1", "city", Decimal(1), above)

    @_seldom
    @rule(by=_admin, name=st.sampled_from(_FURTHER), role=_roles, reach=_reaches)
    def issue(self, by: str, name: str, role: str, reach: frozenset[str] | None) -> None:
        """A further key, which takes the name from an older one."""
        body = {"name": name, "role": role, "datasets": None if reach is None else sorted(reach)}
        reply = self._call(by, "POST", "/v1/keys", json=body)
        made = reply.json().get("id", "")
        self._compare(reply, lambda: self.specified.issue(self.ids[by], made, role, reach))
        if reply.is_success:
            self.ids[name], self.secrets[made] = made, reply.json()["key"]

    @_seldom
    @rule(by=_admin, name=_revocable)
    def revoke(self, by: str, name: str) -> None:
        """End a key, maybe one's own."""
        key = self.ids[name]
        reply = self._call(by, "DELETE", f"/v1/keys/{key}")
        self._compare(reply, lambda: self.specified.revoke(self.ids[by], key))

    @_seldom
    @rule(by=_curator, name=_names, budget=_epsilons, above=_thresholds)
    def register(self, by: str, name: str, budget: Decimal, above: Decimal | None) -> None:
        """A dataset, or a name that is taken."""
        body = {"name": name, "attributes": _ATTRIBUTES, "budget": str(budget)} | _without_none(two_persons_above=above)
        reply = self._call(by, "POST", "/v1/datasets", json=body)
        self._compare(reply, lambda: self.specified.register(self.ids[by], name, budget, above))

    @rule(by=_admin, name=_names, epsilon=_epsilons)
    def grant(self, by: str, name: str, epsilon: Decimal) -> None:
        """More epsilon."""
        body = {"epsilon": str(epsilon), "reason": "more"}
        reply = self._call(by, "POST", f"/v1/datasets/{name}/grants", json=body)
        self._compare(reply, lambda: self.specified.grant(self.ids[by], name, epsilon))

    @_seldom
    @rule(by=_anybody, name=_names, above=_thresholds)
    def set_rule(self, by: str, name: str, above: Decimal | None) -> None:
        """A threshold: set, lowered, raised or removed."""
        reply = self._call(by, "POST", f"/v1/datasets/{name}/rule", json=_without_none(above=above))
        self._compare(reply, lambda: self.specified.set_rule(self.ids[by], name, above))

    @_seldom
    @rule(by=_curator, name=st.sampled_from(("town", "city")))
    def close(self, by: str, name: str) -> None:
        """For good."""
        reply = self._call(by, "POST", f"/v1/datasets/{name}/close")
        self._compare(reply, lambda: self.specified.close(self.ids[by], name))

    @rule(by=_curator, name=_names, terms=_terms)
    def order(self, by: str, name: str, terms: Terms) -> None:
        """Within the budget or beyond it, at the threshold or above it."""
        self._order(by, name, terms, None)

    @rule(by=_curator, name=_names, terms=_repeated)
    def order_with_key(self, by: str, name: str, terms: Terms) -> None:
        """Always the same Idempotency-Key, for one order or another."""
        self._order(by, name, terms, "monday")

    @precondition(lambda self: self.releases)
    @rule(by=_curator, back=_back)
    def buy_size(self, by: str, back: int) -> None:
        """The noisy size alone."""
        release = _pick(self.releases, back)
        reply = self._call(by, "POST", f"/v1/releases/{release}/size", json={"rows": 2})
        self._compare(reply, lambda: self.specified.buy_size(self.ids[by], release))

    @precondition(lambda self: self.releases)
    @rule(by=_curator, back=_back)
    def upload(self, by: str, back: int) -> None:
        """A good file: to a release in any state."""
        self._upload(by, back, None)

    @precondition(lambda self: self.releases)
    @rule(by=_curator, back=_back, fault=st.sampled_from(("unreadable-upload", "unfit-columns")))
    def upload_what_is_refused(self, by: str, back: int, fault: str) -> None:
        """An empty file, or one without the column."""
        self._upload(by, back, fault)

    @precondition(lambda self: self.releases)
    @rule(by=_curator, back=_back)
    def void(self, by: str, back: int) -> None:
        """Of a release in any state."""
        release = _pick(self.releases, back)
        reply = self._call(by, "DELETE", f"/v1/releases/{release}")
        self._compare(reply, lambda: self.specified.void(self.ids[by], release))

    @precondition(lambda self: self.specified.requests)
    @rule(by=_anybody, back=_back)
    def approve(self, by: str, back: int) -> None:
        """What another key asked for, or what was decided before."""
        self._approve(self.ids[by], back)

    @precondition(lambda self: self.specified.requests)
    @rule(back=_back)
    def approve_as_second_person(self, back: int) -> None:
        """By a key of the role that it takes."""
        request = self.specified.requests[_pick(list(self.specified.requests), back)]
        names = _ADMINS if request.effect.kind == "grant" else _CURATORS
        others = [self.ids[name] for name in names if self.ids[name] != request.asker]
        self._approve(others[0], back)

    @precondition(lambda self: self.specified.requests)
    @rule(back=_back)
    def approve_ones_own(self, back: int) -> None:
        """By the very key that asked."""
        self._approve(self.specified.requests[_pick(list(self.specified.requests), back)].asker, back)

    @precondition(lambda self: self.specified.requests)
    @rule(by=_anybody, back=_back)
    def refuse(self, by: str, back: int) -> None:
        """Which withdraws it, if it is one's own."""
        number = _pick(list(self.specified.requests), back)
        reply = self._call(by, "POST", f"/v1/requests/{number}/refuse")
        self._compare(reply, lambda: self.specified.refuse(self.ids[by], number))

    @_seldom
    @rule()
    def restart(self) -> None:
        """What is in memory is lost, and nothing else."""
        self.running.restart()

    def _order(self, by: str, name: str, terms: Terms, key: str | None) -> None:
        size = {"estimate": "0.5"} if terms.buys_size else {"declared": 20}
        body = {"epsilon": str(terms.epsilon), "clusters": terms.clusters, "size": size}
        headers = _without_none(**{"Idempotency-Key": key})
        reply = self._call(by, "POST", f"/v1/datasets/{name}/releases", json=body, headers=headers)
        made = reply.json()["release" if reply.status_code == 202 else "id"] if reply.is_success else ""
        self._compare(reply, lambda: self.specified.order(self.ids[by], name, terms, key, made))
        if made and made not in self.releases:
            self.releases.append(made)

    def _upload(self, by: str, back: int, fault: str | None) -> None:
        release = _pick(self.releases, back)
        headers = {"Content-Type": "text/csv"}
        reply = self._call(by, "PUT", f"/v1/releases/{release}/records", content=_FILES[fault], headers=headers)
        self._compare(reply, lambda: self.specified.upload(self.ids[by], release, fault))

    def _approve(self, key: str, back: int) -> None:
        number = _pick(list(self.specified.requests), back)
        reply = self.running.call(self.secrets[key], "POST", f"/v1/requests/{number}/approve")
        self._compare(reply, lambda: self.specified.approve(key, number))

    def _call(self, by: str, method: str, path: str, **options: Any) -> Response:
        return self.running.call(self.secrets[self.ids[by]], method, path, **options)

    def _compare(self, response: Response, act: Callable[[], Reply]) -> None:
        """Let the specification act in its turn. Its reply has to be the one that came."""
        try:
            expected = act()
        except Refused as refused:
            expected = refused.reply
        reply = reply_of(response)
        assert reply == expected, f"The reply is {reply}, and the specification says {expected}."
        self.seen[expected if response.is_error else (expected[0], "")] += 1


def drive(place: Place, *, examples: int, steps: int) -> Counter[Reply]:
    """Run the machine on services of that place. How often each status came, with the problem if there was one.

    Where something differs it raises, with the shortest steps that lead there.
    """
    seen: Counter[Reply] = Counter()
    machine = type("Machine", (ServiceMachine,), {"place": staticmethod(place), "seen": seen})
    patient = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(machine, settings=patient)
    return seen


def _pick(listed: list[str], back: int) -> str:
    return listed[-1 - back % len(listed)]


def _without_none(**fields: object) -> dict[str, str]:
    return {name: str(value) for name, value in fields.items() if value is not None}
