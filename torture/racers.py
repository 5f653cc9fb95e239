"""A client in a race: what it does step by step with the keys of several persons, and what it is told.

In most steps it does what chance says. In some, all clients send the same request at the same moment: one order under
one Idempotency-Key, and then the approval of what that order asks for.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from threading import Barrier
from typing import Any

import httpx

LOST = 599  # the status of a reply that did not come
ABOVE = "0.0015"  # what takes two persons
ALONE, BY_TWO = "0.001", "0.002"
STEPS = 25
_LAST_OF_CHANCE = STEPS - 2
_PATIENCE = 300.0  # seconds that clients wait for each other
_CLOSES = 0.1  # how likely a client closes the dataset near the end, while others still work
_WAITS = 202


@dataclass(frozen=True, slots=True)
class Reply:
    """What one client asked and was told: of which release or request, and of which Idempotency-Key."""

    action: str
    status: int
    target: str = ""
    release: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Race:
    """What the clients of a round work on, and the keys that they share."""

    dataset: str
    curators: tuple[str, ...]
    admins: tuple[str, ...]
    together: Barrier
    rows: bytes
    releases: list[str] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)  # id and kind


class Racer:
    """One client. It acts as the same curator and the same admin all the time, and so do some of the others."""

    def __init__(self, race: Race, number: int, url: str) -> None:
        self._race = race
        self._chance = random.Random(f"{race.dataset}/{number}")
        self._curator = {"Authorization": f"Bearer {race.curators[number % len(race.curators)]}"}
        self._admin = {"Authorization": f"Bearer {race.admins[number % len(race.admins)]}"}
        self._client = httpx.Client(base_url=url, timeout=60)

    def run(self) -> list[Reply]:
        """All steps. Where this fails, nobody waits for it."""
        try:
            with self._client:
                return [self._heard(step) for step in range(STEPS)]
        except BaseException:
            self._race.together.abort()
            raise

    def _heard(self, step: int) -> Reply:
        """One step. A reply that is lost, as where the service closes an idle connection just then, says nothing."""
        place = step % 8
        if place in (0, 1, 4):
            self._race.together.wait(_PATIENCE)
        try:
            match place:
                case 0:
                    return self._order(BY_TWO, key=f"both-{step}")
                case 1 if self._race.requests:
                    return self._decide("approve", *self._race.requests[-1])
                case 4:
                    return self._order(ALONE, key=f"one-{step}")
            if step == _LAST_OF_CHANCE and self._chance.random() < _CLOSES:
                return self._reply("close", self._post(self._curator, f"/datasets/{self._race.dataset}/close"))
            return self._by_chance()
        except httpx.TransportError:
            return Reply("lost", LOST)

    def _by_chance(self) -> Reply:
        choice, race = self._chance.random(), self._race
        if choice < 0.35 or not race.releases:
            return self._order(ALONE if choice < 0.25 else BY_TWO)
        if choice < 0.55:
            release = self._chance.choice(race.releases)
            headers = {**self._curator, "Content-Type": "text/csv"}
            reply = self._client.put(f"/v1/releases/{release}/records", content=race.rows, headers=headers)
            return self._reply("publish", reply, release)
        if choice < 0.67:
            release = self._chance.choice(race.releases)
            reply = self._client.delete(f"/v1/releases/{release}", headers=self._curator)
            return self._reply("void", reply, release)
        if choice < 0.77:
            body = {"epsilon": ALONE if choice < 0.72 else BY_TWO, "reason": "more"}
            return self._reply("grant", self._post(self._admin, f"/datasets/{race.dataset}/grants", body))
        if choice < 0.81:
            body = {"above": self._chance.choice((ABOVE, "0.0018"))}
            return self._reply("rule", self._post(self._curator, f"/datasets/{race.dataset}/rule", body))
        word = "approve" if self._chance.random() < 0.75 else "refuse"
        return self._decide(word, *self._chance.choice(race.requests[-5:]))

    def _order(self, epsilon: str, key: str = "") -> Reply:
        body = {"epsilon": epsilon, "clusters": 4, "size": {"declared": 500}}
        headers = {"Idempotency-Key": key} if key else {}
        path = f"/datasets/{self._race.dataset}/releases"
        return self._reply("charge", self._post(self._curator | headers, path, body), key=key)

    def _decide(self, word: str, request: str, kind: str) -> Reply:
        who = self._admin if kind == "grant" else self._curator
        return self._reply(word, self._post(who, f"/requests/{request}/{word}"), request)

    def _post(self, headers: dict[str, str], path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        return self._client.post(f"/v1{path}", headers=headers, json=body)

    def _reply(self, action: str, response: httpx.Response, target: str = "", key: str = "") -> Reply:
        """The reply in short. What was made is there for the others from now on."""
        body = response.json() if response.is_success else {}
        if response.status_code == _WAITS:
            asked = body["id"], body["kind"]
            if asked not in self._race.requests:
                self._race.requests.append(asked)
            return Reply("request", _WAITS, body["id"], body["release"] or "", key)
        release = ""
        if response.is_success and "charge" in (action, body.get("kind")):
            release = body["id"] if action == "charge" else body["release"]
            if release not in self._race.releases:
                self._race.releases.append(release)
        return Reply(action, response.status_code, release if action == "charge" else target, release, key)
