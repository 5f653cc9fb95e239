"""The verdict on a race: whether what the clients were told is what the ledger has, no more and no less."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from torture.model import Broken, Model
from torture.racers import LOST, Reply

_UNAVAILABLE = 503
_ONCE = ("publish", "void", "approve", "refuse", "close")


def judge(model: Model, dataset: str, replies: list[Reply]) -> None:
    """Raise Broken where a reply and the ledger disagree. A reply of 503, and one that is lost, says nothing."""
    if any(reply.status >= 500 and reply.status not in (_UNAVAILABLE, LOST) for reply in replies):
        raise Broken("A request ended with a fault of the service.")
    done = [reply for reply in replies if reply.status < 300]
    for action in _ONCE:
        again = [target for target, count in Counter(_targets(done, action)).items() if count > 1]
        if again:
            raise Broken(f"'{action}' of {again[0] or dataset} was acknowledged twice.")
    _require_one_charge_a_key(done)
    unheard = sum(reply.status in (_UNAVAILABLE, LOST) for reply in replies)
    recorded = _recorded(model, dataset)
    for kind, acknowledged in _acknowledged(model, dataset, done).items():
        missing = [target for target in acknowledged if target not in recorded[kind]]
        if missing:
            raise Broken(f"'{kind}' of {missing[0] or dataset} was acknowledged and is not on record.")
        if not 0 <= len(recorded[kind]) - len(acknowledged) <= unheard:
            raise Broken(
                f"The ledger has {len(recorded[kind])} entries '{kind}'; {len(acknowledged)} were acknowledged."
            )
    if any(count > 1 for count in model.draws.values()):
        raise Broken("Noise was drawn twice for one charge.")


def _require_one_charge_a_key(done: Iterable[Reply]) -> None:
    releases = defaultdict(set)
    for reply in done:
        if reply.key:
            releases[reply.key].add(reply.release)
    twice = [key for key, made in releases.items() if len(made) > 1]
    if twice:
        raise Broken(f"The Idempotency-Key {twice[0]} gave two releases.")


def _acknowledged(model: Model, dataset: str, done: list[Reply]) -> dict[str, list[str]]:
    """What was acknowledged, by the kind of entry: which releases or requests, and "" for the dataset itself."""
    acknowledged = {kind: _targets(done, kind) for kind in ("publish", "void", "grant", "close")}
    acknowledged |= {"refuse": _targets(done, "refuse"), "request": sorted({*_targets(done, "request")})}
    charged = {*_targets(done, "charge")}
    for number in _targets(done, "approve"):
        asked = model.approvals.requests.get(number)
        if asked is None or asked.dataset != dataset:
            raise Broken(f"The request {number} was approved and is not on record.")
        if asked.kind == "charge":
            charged.add(str(asked.release))
        elif asked.kind in acknowledged:
            acknowledged[asked.kind].append(asked.release or "")
    acknowledged["charge"] = sorted(charged)
    acknowledged["grant"].append("")  # the first one registers the dataset
    return acknowledged


def _recorded(model: Model, dataset: str) -> dict[str, list[str]]:
    """The same of the ledger."""
    recorded = defaultdict(list)
    ids = {entry["hash"]: f"q{entry['seq']}" for entry in model.entries if entry["kind"] == "request"}
    for entry in model.entries:
        if entry["dataset"] == dataset:
            is_of_request = entry["kind"] in ("request", "refuse")
            request = ids.get(entry["detail"].get("request", entry["hash"])) if is_of_request else None
            recorded[entry["kind"]].append(request or entry["release"] or "")
    return recorded


def _targets(done: Iterable[Reply], action: str) -> list[str]:
    return [reply.target for reply in done if reply.action == action]
