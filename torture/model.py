"""The ledger replayed by rules of its own, to compare the service with.

It is written without `core.ledger`: it shares no line with what it judges. It reads the exported entries in their
order, and raises Broken where they break a rule of the product. `torture.approvals` has the rules of two persons.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from torture.approvals import Approvals

_FIRST = "0" * 64


class Broken(Exception):
    """What does not hold, as a sentence."""


@dataclass(slots=True)
class Model:
    """Balances and states that follow from the entries."""

    granted: dict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    spent: dict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    states: dict[str, str] = field(default_factory=dict)
    epsilons: dict[str, Decimal] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    draws: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))  # by release and step
    approvals: Approvals = field(default_factory=Approvals)
    entries: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, export: Iterable[str]) -> Model:
        """The model of an export of the ledger, as NDJSON."""
        model, previous = cls(), _FIRST
        for number, line in enumerate(export, start=1):
            entry = json.loads(line)
            if entry["seq"] != number or entry["previous"] != previous:
                raise Broken(f"Entry {number} does not follow the one before it.")
            body = {name: value for name, value in entry.items() if name != "hash"}
            text = json.dumps(body, sort_keys=True, separators=(",", ":"))
            if hashlib.sha256(text.encode()).hexdigest() != entry["hash"]:
                raise Broken(f"Entry {number} does not have its hash.")
            previous = entry["hash"]
            model._take(entry)
            model.entries.append(entry)
        return model

    @property
    def hashes(self) -> list[bytes]:
        """The hash of each entry: the leaves of the log."""
        return [bytes.fromhex(entry["hash"]) for entry in self.entries]

    def _take(self, entry: Mapping[str, Any]) -> None:
        kind, name, release = entry["kind"], entry["dataset"], entry["release"]
        epsilon, state = Decimal(entry["epsilon"]), self.states.get(release)
        match kind:
            case "grant":
                self._require(name not in self.closed, entry)
                self.granted[name] += epsilon
            case "charge":
                self._require(state is None and name not in self.closed, entry)
                self.spent[name] += epsilon
                self.epsilons[release] = epsilon
                self.states[release] = "ordered"
            case "draw":
                self._require(state in ("ordered", "counting") and name not in self.closed, entry)
                self.draws[release, entry["detail"].get("step", "rows")] += 1
                self.states[release] = "burnt"
            case "step":
                self._require(state == "burnt", entry)
                self.states[release] = "counting"
            case "publish":
                self._require(state == "burnt", entry)
                self.digests[release] = entry["detail"]["digest"]
                self.states[release] = "published"
            case "void":
                self._require(state == "ordered" and epsilon == self.epsilons[release], entry)
                self.spent[name] -= epsilon
                self.states[release] = "void"
            case "close":
                self._require(name in self.granted and name not in self.closed, entry)
                self.closed.add(name)
        if name is not None:
            self._require(self.spent[name] <= self.granted[name], entry)
        fault = self.approvals.objection(entry)
        if fault is not None:
            raise Broken(f"Entry {entry['seq']} ({entry['kind']}) {fault}.")

    @staticmethod
    def _require(holds: bool, entry: Mapping[str, Any]) -> None:
        if not holds:
            raise Broken(f"Entry {entry['seq']} ({entry['kind']}) breaks a rule.")
