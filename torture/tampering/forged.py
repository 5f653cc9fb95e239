"""A clever attacker: after an edit, all later hashes are worked out anew, and so is whatever refers to them.

The chain has no secret, so the result verifies in itself wherever the entries keep the rules. What gives it away is
what was signed: the checkpoints on record, or, where the attacker deletes those as well, the witness file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from app.ledger.appending import row_of
from core.budget import Epsilon
from core.ledger.entry import GENESIS, LedgerEntry, Stored
from core.ledger.kinds import Kind
from torture.tampering.edits import COLUMNS, OFTEN, Edit, Row


def clever(rows: Sequence[Row], places: Sequence[int]) -> Iterator[Edit]:
    """Every field of an entry changed in its meaning; entries left out, repeated, made up, reordered, and cut off.

    A balance that a charge states is put right again, so that changing it alone is no edit.
    """
    entries = [_entry(row) for row in rows]
    for place in places:
        for about, other in _others(entries, place):
            edit = _forged("a field flipped", about, [*entries[:place], other, *entries[place + 1 :]], place)
            if edit.rows != rows:
                yield edit
        yield _forged("a row deleted", f"row {place + 1}", [*entries[:place], *entries[place + 1 :]], place)
        yield _forged("a row doubled", f"row {place + 1}", [*entries[: place + 1], *entries[place:]], place + 1)
        yield _forged("a row inserted", f"before row {place + 1}", [*entries[:place], GIFT, *entries[place:]], place)
        if place + 1 < len(rows):
            pair = entries[place + 1], entries[place]
            about = f"rows {place + 1} and {place + 2}"
            yield _forged("two rows reordered", about, [*entries[:place], *pair, *entries[place + 2 :]], place)
        yield Edit("cut off", f"after {place} rows", rows[:place], place + 1, place + 1)


GIFT = LedgerEntry(
    seq=1,
    kind=Kind.GRANT,
    dataset="city",
    release=None,
    epsilon=Epsilon.parse("5"),
    actor="admin [k00000000]",
    at="2026-01-02",
    detail={"reason": "a gift", "salt": "0" * 32},
    previous=GENESIS,
)


def _forged(kind: str, about: str, entries: Sequence[LedgerEntry], place: int) -> Edit:
    return Edit(kind, about, [_row(entry) for entry in rechained(entries)], place + 1, len(entries) + 1)


def rechained(entries: Sequence[LedgerEntry]) -> Iterator[LedgerEntry]:
    """The entries numbered and bound anew. Balances and requests that they state are put right, as far as they go."""
    granted: dict[str, int] = {}
    spent: dict[str, int] = {}
    renamed: dict[str, str] = {}  # hashes of requests
    previous = GENESIS
    for number, entry in enumerate(entries, start=1):
        name, nano = str(entry.dataset), entry.epsilon.nano
        granted[name] = granted.get(name, 0) + entry.kind.description.granted_sign * nano
        spent[name] = spent.get(name, 0) + entry.kind.description.spent_sign * nano
        detail = dict(entry.detail)
        if entry.kind is Kind.CHARGE and "granted" in detail:
            detail |= {"granted": str(Epsilon(granted[name])), "spent": str(Epsilon(max(0, spent[name])))}
        if "request" in detail:
            detail["request"] = renamed.get(str(detail["request"]), detail["request"])
        made = replace(entry, seq=number, previous=previous, detail=detail).sealed()
        if entry.hash:
            renamed[entry.hash] = made.hash
        previous = made.hash
        yield made


def _others(entries: Sequence[LedgerEntry], place: int) -> Iterator[tuple[str, LedgerEntry]]:
    """The entry with one thing changed, which it would not have said."""
    entry, said = entries[place], f"row {place + 1}"
    kinds = list(Kind)
    yield f"{said}, kind", replace(entry, kind=kinds[(kinds.index(entry.kind) + 1) % len(kinds)])
    yield f"{said}, dataset", replace(entry, dataset="pair" if entry.dataset == "city" else "city")
    yield f"{said}, release", replace(entry, release=None if entry.release else "r0123456789abcdef")
    yield f"{said}, epsilon", replace(entry, epsilon=Epsilon(entry.epsilon.nano + 1))
    yield f"{said}, actor", replace(entry, actor=entry.actor + "x")
    yield f"{said}, at", replace(entry, at="2026-01-03")
    for name, value in entry.detail.items():
        yield f"{said}, detail.{name}", replace(entry, detail={**entry.detail, name: _other(value)})
        if place % OFTEN == 0:
            yield f"{said}, detail.{name} left out", replace(entry, detail=_without(entry.detail, name))


def _other(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, str):
        return value[:-1] + ("0" if not value.endswith("0") else "1")
    if isinstance(value, bool) or value is None:
        return "city"
    if isinstance(value, int):
        return value + 1
    if isinstance(value, dict):
        name = min(value)
        return {**value, name: _other(value[name])}
    return [*value, "city"]


def _without(detail: Any, name: str) -> dict[str, Any]:
    return {key: value for key, value in detail.items() if key != name}


def _entry(row: Row) -> LedgerEntry:
    stored = Stored.of(row)
    assert stored is not None
    return stored.entry


def _row(entry: LedgerEntry) -> Row:
    columns = row_of(entry)
    return tuple(columns[name] for name in COLUMNS)
