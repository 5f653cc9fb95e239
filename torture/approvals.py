"""Two persons, replayed by rules of its own: which keys are in use, what waits, and whether an entry may take effect.

Like `torture.model`, it shares no line with `core.ledger`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

_OWN_ADMIN = "environment"  # the key of RUGNIK_ADMIN_KEY is in no ledger
_OF_THE_APPROVAL = ("request", "requested_by")
_OF_EVERY_ENTRY = ("salt", "granted", "spent")


@dataclass(slots=True)
class Asked:
    """A request: whose it is, what it asks for, and how it stands."""

    dataset: str
    actor: str
    kind: str
    release: str | None
    epsilon: Decimal
    terms: Mapping[str, Any]
    state: str = "waiting"


@dataclass(slots=True)
class Approvals:
    """Keys, thresholds and requests that follow from the entries. Requests are named as the service names them."""

    keys: set[str] = field(default_factory=lambda: {_OWN_ADMIN})
    above: dict[str, Decimal | None] = field(default_factory=dict)
    requests: dict[str, Asked] = field(default_factory=dict)
    _by_hash: dict[str, Asked] = field(default_factory=dict)

    def objection(self, entry: Mapping[str, Any]) -> str | None:
        """What is wrong with an entry, in a few words; None if nothing is. What is right is taken in."""
        detail = entry["detail"]
        match entry["kind"]:
            case "issue":
                self.keys.add(detail["id"])
            case "revoke":
                self.keys.discard(detail["id"])
            case "request":
                return self._ask(entry)
            case "refuse":
                return self._decide(entry, "refused")
            case "charge" | "grant" | "void" | "rule" as kind:
                fault = self._decide(entry, "approved") if "request" in detail else self._alone(entry)
                if kind == "rule" and fault is None:
                    self.above[entry["dataset"]] = _threshold(detail)
                return fault
        return None

    def _ask(self, entry: Mapping[str, Any]) -> str | None:
        wanted = entry["detail"]
        if self._key(entry["actor"]) is None:
            return "asked by a key that is not in use"
        asked = Asked(
            dataset=entry["dataset"],
            actor=entry["actor"],
            kind=wanted["kind"],
            release=wanted["release"],
            epsilon=Decimal(wanted["epsilon"]),
            terms=wanted["terms"],
        )
        self.requests[f"q{entry['seq']}"] = self._by_hash[entry["hash"]] = asked
        return None

    def _alone(self, entry: Mapping[str, Any]) -> str | None:
        """One key is enough up to the threshold, and to set or lower it."""
        above = self.above.get(entry["dataset"])
        if entry["kind"] == "rule":
            wanted = _threshold(entry["detail"])
            is_enough = above is None or (wanted is not None and wanted <= above)
        else:
            is_enough = above is None or Decimal(entry["epsilon"]) <= above
        return None if is_enough else "takes two persons and has one"

    def _decide(self, entry: Mapping[str, Any], decision: str) -> str | None:
        asked = self._by_hash.get(entry["detail"]["request"])
        key = self._key(entry["actor"])
        if asked is None or asked.state != "waiting" or asked.dataset != entry["dataset"]:
            return "decides a request that does not wait"
        if key is None:
            return "decided by a key that is not in use"
        if decision == "approved":
            if self._key(asked.actor) in (None, key):
                return "approved by the key that asked, or asked by a key that is gone"
            terms = {n: v for n, v in entry["detail"].items() if n not in (*_OF_THE_APPROVAL, *_OF_EVERY_ENTRY)}
            made = entry["kind"], entry["release"], Decimal(entry["epsilon"]), terms, entry["detail"]["requested_by"]
            if made != (asked.kind, asked.release, asked.epsilon, asked.terms, asked.actor):
                return "is not what was asked for"
        asked.state = decision
        return None

    def _key(self, actor: str) -> str | None:
        """The id of an actor's key, if it is in use."""
        key = actor[actor.rindex("[") + 1 : -1]
        return key if key in self.keys else None


def _threshold(detail: Mapping[str, Any]) -> Decimal | None:
    return None if detail["above"] is None else Decimal(detail["above"])
