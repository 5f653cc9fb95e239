"""What a service answers to each action, puts on record and is left with: a sequential model of its states.

Each method is an action of one key. It returns the reply: a status, and what the reply is about (an id, or a name). A
refusal raises Refused and changes nothing. Checks stand in the order in which they count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from tests.support.states.nouns import (
    OWN_ADMIN,
    Dataset,
    Effect,
    Entry,
    Key,
    Limits,
    Refused,
    Release,
    Reply,
    Request,
    Terms,
    require,
)


@dataclass(slots=True)
class Specification:
    """All that there is, and the ledger. An id that the service makes up is given as `made`."""

    limits: Limits
    keys: dict[str, Key] = field(default_factory=lambda: {OWN_ADMIN: Key("admin")})
    datasets: dict[str, Dataset] = field(default_factory=dict)
    releases: dict[str, Release] = field(default_factory=dict)
    requests: dict[str, Request] = field(default_factory=dict)
    orders_by_key: dict[tuple[str, str], tuple[str, Terms]] = field(default_factory=dict)
    ledger: list[Entry] = field(default_factory=list)

    def issue(self, by: str, made: str, role: str, reach: frozenset[str] | None) -> Reply:
        """A key that is limited issues keys within its own limits."""
        own = self._caller(by, "admin").reach
        require(own is None or (reach is not None and reach <= own), 403, "not-allowed")
        in_use = [key for key in self.keys.values() if not key.revoked]
        require(len(in_use) - 1 < self.limits.keys, 409, "quota-reached")  # that of the settings does not count
        self.keys[made] = Key(role, reach)
        self.ledger.append(Entry("issue", by))
        return 201, made

    def revoke(self, by: str, key_id: str) -> Reply:
        """For good; a second time changes nothing. The key of the settings is not on record."""
        require(self._caller(by, "admin").reach is None, 403, "not-allowed")
        require(key_id != OWN_ADMIN, 404, "not-found")
        if not self.keys[key_id].revoked:
            self.keys[key_id].revoked = True
            self.ledger.append(Entry("revoke", by))
        return 204, ""

    def register(self, by: str, name: str, budget: Decimal, above: Decimal | None) -> Reply:
        """A name is taken for ever."""
        require(self._caller(by, "curator").reaches(name), 403, "not-allowed")
        require(name not in self.datasets, 409, "name-taken")
        require(len(self.datasets) < self.limits.datasets, 409, "quota-reached")
        require(budget <= self.limits.budget, 422, "budget-too-large")
        self.datasets[name] = Dataset()
        self._make(by, Effect(kind="grant", dataset=name, epsilon=budget))
        if above is not None:
            self._make(by, Effect(kind="rule", dataset=name, above=above))
        return 201, name

    def grant(self, by: str, name: str, epsilon: Decimal) -> Reply:
        """Raise a budget."""
        self._dataset(self._caller(by, "admin"), name)
        return self._do(by, Effect(kind="grant", dataset=name, epsilon=epsilon), (201, name))

    def close(self, by: str, name: str) -> Reply:
        """For good."""
        dataset = self._dataset(self._caller(by, "curator"), name)
        require(not dataset.closed, 409, "dataset-closed")
        dataset.closed = True
        self.ledger.append(Entry("close", by, name))
        return 200, name

    def set_rule(self, by: str, name: str, above: Decimal | None) -> Reply:
        """One key sets and lowers a threshold; two raise it or remove it. What is set already leaves no entry."""
        dataset = self._dataset(self._caller(by, "curator", "admin"), name)
        if not dataset.closed and dataset.above == above:
            return 200, name
        return self._do(by, Effect(kind="rule", dataset=name, above=above), (200, name))

    def order(self, by: str, name: str, terms: Terms, idempotency_key: str | None, made: str) -> Reply:
        """An Idempotency-Key stands for one order of a dataset: repeated, it is answered again and charged once."""
        self._dataset(self._caller(by, "curator"), name)
        release, earlier = self.orders_by_key.get((name, idempotency_key or ""), (made, terms))
        require(earlier == terms, 422, "idempotency-conflict")
        if release in self.releases:
            return 201, release
        for number, request in self.requests.items():
            if request.effect.kind == "charge" and request.effect.release == release:
                require(request.state == "waiting", 409, "request-decided")
                return 202, number
        effect = Effect(kind="charge", dataset=name, release=release, epsilon=terms.epsilon, terms=terms)
        reply = self._do(by, effect, (201, release))
        if idempotency_key is not None:
            self.orders_by_key[name, idempotency_key] = release, terms
        return reply

    def buy_size(self, by: str, release_id: str) -> Reply:
        """Once: asked again, the reply tells it again."""
        release = self._awaiting_rows(self._caller(by, "curator"), release_id)
        require(release.terms.buys_size, 422, "invalid-order")
        if not release.has_size:
            release.has_size, release.state = True, "counting"
            self._record_draw(by, release_id, "step")
        return 200, release_id

    def upload(self, by: str, release_id: str, fault: str | None) -> Reply:
        """A file that is refused for a fault leaves everything as it is."""
        release = self._awaiting_rows(self._caller(by, "curator"), release_id)
        require(fault is None, 422, fault or "")
        release.state = "published"
        self._record_draw(by, release_id, "publish")
        return 200, release_id

    def void(self, by: str, release_id: str) -> Reply:
        """What waits already is told again."""
        release = self._release(self._caller(by, "curator"), release_id)
        epsilon = release.terms.epsilon
        effect = Effect(kind="void", dataset=release.dataset, release=release_id, epsilon=epsilon)
        return self._do(by, effect, (200, release_id))

    def approve(self, by: str, number: str) -> Reply:
        """By another key than the one that asked, which has to be in use still. All checks are made again."""
        request = self._decidable(by, number)
        require(request.asker != by, 403, "own-request")
        require(not self.keys[request.asker].revoked, 403, "not-allowed")
        self._require_possible(request.effect)
        self._make(by, request.effect)
        request.state = "approved"
        return 200, number

    def refuse(self, by: str, number: str) -> Reply:
        """By any key that could have asked, the asker among them."""
        request = self._decidable(by, number)
        request.state = "refused"
        self.ledger.append(Entry("refuse", by, request.effect.dataset))
        return 200, number

    def _do(self, by: str, effect: Effect, reply: Reply) -> Reply:
        """Make the effect, or ask for it where that takes two."""
        self._require_possible(effect)
        if not self._takes_two(effect):
            self._make(by, effect)
            return reply
        waiting = {
            number: request.effect
            for number, request in self.requests.items()
            if request.effect.dataset == effect.dataset and request.state == "waiting"
        }
        for number, asked in waiting.items():
            if effect.kind == "void" and asked == effect:
                return 202, number
        require(len(waiting) < self.limits.open_orders, 409, "quota-reached")
        self.ledger.append(Entry("request", by, effect.dataset))
        number = f"q{len(self.ledger)}"
        self.requests[number] = Request(effect, by)
        return 202, number

    def _require_possible(self, effect: Effect) -> None:
        dataset = self.datasets[effect.dataset]
        if effect.kind == "void":
            require(self.releases[effect.release or ""].state == "ordered", 409, "release-ended")
            return
        require(not dataset.closed, 409, "dataset-closed")
        if effect.kind == "charge":
            orders = [each for each in self.releases.values() if each.dataset == effect.dataset]
            is_room = sum(each.state == "ordered" for each in orders) < self.limits.open_orders
            require(is_room, 409, "quota-reached")
            require(effect.epsilon <= dataset.granted - dataset.spent, 409, "insufficient-budget")
        if effect.kind == "grant":
            require(dataset.granted + effect.epsilon <= self.limits.budget, 422, "budget-too-large")

    def _takes_two(self, effect: Effect) -> bool:
        above = self.datasets[effect.dataset].above
        if above is None:
            return False
        if effect.kind == "rule":
            return effect.above is None or effect.above > above
        return effect.epsilon > above

    def _make(self, by: str, effect: Effect) -> None:
        dataset, release = self.datasets[effect.dataset], effect.release or ""
        match effect.kind:
            case "grant":
                dataset.granted += effect.epsilon
            case "charge":
                dataset.spent += effect.epsilon
                self.releases[release] = Release(effect.dataset, effect.terms or Terms(effect.epsilon))
            case "void":
                dataset.spent -= effect.epsilon
                self.releases[release].state = "void"
            case "rule":
                dataset.above = effect.above
        self.ledger.append(Entry(effect.kind, by, effect.dataset, effect.release, effect.epsilon))

    def _record_draw(self, by: str, release: str, what: str) -> None:
        """That noise is about to be drawn is on record before what it gave."""
        self.ledger += [Entry(kind, by, self.releases[release].dataset, release) for kind in ("draw", what)]

    def _caller(self, by: str, *roles: str) -> Key:
        key = self.keys[by]
        require(not key.revoked, 401, "not-authenticated")
        require(key.role in roles, 403, "not-allowed")
        return key

    def _dataset(self, key: Key, name: str) -> Dataset:
        require(name in self.datasets and key.reaches(name), 404, "not-found")
        return self.datasets[name]

    def _release(self, key: Key, release_id: str) -> Release:
        release = self.releases.get(release_id)
        if release is None or not key.reaches(release.dataset):
            raise Refused(404, "not-found")
        return release

    def _awaiting_rows(self, key: Key, release_id: str) -> Release:
        release = self._release(key, release_id)
        require(not self.datasets[release.dataset].closed, 409, "dataset-closed")
        require(release.state in ("ordered", "counting"), 409, "release-ended")
        return release

    def _decidable(self, by: str, number: str) -> Request:
        """A request that waits, for who could have asked: admins for grants, curators for releases, both for a rule."""
        key, request = self._caller(by, "curator", "admin"), self.requests[number]
        require(key.reaches(request.effect.dataset), 404, "not-found")
        needed = {"grant": "admin", "rule": key.role}.get(request.effect.kind, "curator")
        require(key.role == needed, 403, "not-allowed")
        require(request.state == "waiting", 409, "request-decided")
        return request
