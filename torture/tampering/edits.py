"""What somebody who may write every byte of the ledger's table does to it, without caring for its hashes.

An edit is the whole table as it is afterwards, and where it has to be found: at the first entry that is not as it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from app.storage.tables import ledger
from core.canonical import canonical_json

COLUMNS = tuple(column.name for column in ledger.columns)
_SEQ, _DETAIL = COLUMNS.index("seq"), COLUMNS.index("detail")
OFTEN = 5  # one row in so many has its fields flipped in several ways
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """The table after an edit. `first` and `last` bound the number that a verification has to name."""

    kind: str
    about: str
    rows: Sequence[Row]
    first: int
    last: int


def flipped(rows: Sequence[Row], places: Sequence[int], *, bytes_too: bool) -> Iterator[Edit]:
    """Every field of a row; in some rows each with several other values."""
    for place in places:
        for column, name in enumerate(COLUMNS):
            if column == _SEQ:
                continue
            values = _others(name, rows[place][column], bytes_too=bytes_too)
            for value in values if place % OFTEN == 0 else values[:1]:
                changed = _with(rows[place], column, value)
                about = f"row {place + 1}, {name}: {value!r:.40}"
                yield Edit("a field flipped", about, _replaced(rows, place, changed), place + 1, place + 1)


def renumbered(rows: Sequence[Row], places: Sequence[int]) -> Iterator[Edit]:
    """Another number for a row: none, zero, below it, that of the first entry, beyond the last."""
    for place in places:
        own, last = place + 1, len(rows)
        numbers = (last + 1000, None, 0, -own, 1, last + 1)
        for number in numbers if place % OFTEN == 0 else numbers[:1]:
            if number == own or (own == last and number == last + 1):
                continue
            after = _replaced(rows, place, _with(rows[place], _SEQ, number))
            # A number that two rows have: whichever comes first, the second one is wrong.
            window = (1, 2) if number == 1 else (own, own)
            yield Edit("a field flipped", f"row {own}, seq: {number}", after, *window)
    yield Edit(
        "a field flipped",
        f"row {len(rows)}, seq: {len(rows) + 1}",
        _replaced(rows, len(rows) - 1, _with(rows[-1], _SEQ, len(rows) + 1)),
        len(rows),
        len(rows),
    )


def deleted(rows: Sequence[Row], places: Sequence[int]) -> Iterator[Edit]:
    """A row is gone; a row is gone and those after it move up."""
    for place in places:
        rest = [*rows[:place], *rows[place + 1 :]]
        yield Edit("a row deleted", f"row {place + 1}", rest, place + 1, place + 1)
        moved = [*rows[:place], *_shifted(rows[place + 1 :], -1)]
        yield Edit("a row deleted", f"row {place + 1}, numbers closed up", moved, place + 1, place + 1)


def doubled(rows: Sequence[Row], places: Sequence[int]) -> Iterator[Edit]:
    """A row is there twice: under its own number, or as the next entry."""
    for place in places:
        yield Edit("a row doubled", f"row {place + 1}", [*rows, rows[place]], place + 2, place + 2)
        moved = [*rows[: place + 1], *_shifted(rows[place:], 1)]
        yield Edit("a row doubled", f"row {place + 1}, the others moved", moved, place + 2, place + 2)


def inserted(rows: Sequence[Row], places: Sequence[int]) -> Iterator[Edit]:
    """Another row before an entry, under its number with the others moved, or under a number that is no entry's."""
    for place in places:
        other = rows[(place + 7) % len(rows)]
        moved = [*rows[:place], _with(other, _SEQ, place + 1), *_shifted(rows[place:], 1)]
        yield Edit("a row inserted", f"before row {place + 1}", moved, place + 1, place + 1)
    for number in (0, -1, -len(rows)):
        yield Edit("a row inserted", f"as row {number}", [*rows, _with(rows[0], _SEQ, number)], 1, 1)


def reordered(rows: Sequence[Row], places: Sequence[int]) -> Iterator[Edit]:
    """Two neighbouring rows change places."""
    for place in places:
        if place + 1 < len(rows):
            pair = [_with(rows[place + 1], _SEQ, place + 1), _with(rows[place], _SEQ, place + 2)]
            after = [*rows[:place], *pair, *rows[place + 2 :]]
            yield Edit("two rows reordered", f"rows {place + 1} and {place + 2}", after, place + 1, place + 1)


def truncated(rows: Sequence[Row], places: Sequence[int]) -> Iterator[Edit]:
    """Cut off at every length, 0 among them."""
    for place in places:
        yield Edit("cut off", f"after {place} rows", rows[:place], place + 1, place + 1)


def naive(rows: Sequence[Row], places: Sequence[int], *, bytes_too: bool) -> Iterator[Edit]:
    """All of them, at these places."""
    yield from flipped(rows, places, bytes_too=bytes_too)
    for each in (renumbered, deleted, doubled, inserted, reordered, truncated):
        yield from each(rows, places)


def _others(name: str, value: Any, *, bytes_too: bool) -> list[Any]:
    """Other values for a field: near, empty, none at all, and of another type where the database keeps types."""
    if name == "epsilon_nano":
        return [value + 1, 0 if value else 10**9, None]
    if value is None:
        return ["", "city"]
    others: list[Any] = [value + "x", value[:-1], None]
    if name in {"hash", "previous"}:
        others = [("1" if value[0] == "0" else "0") + value[1:], value.upper(), "", None]
    if name == "detail":
        others += [" " + value, "{}", _one_letter_on(value)]
    if bytes_too:
        others.append(value.encode())
    return [other for other in others if other != value]


def _one_letter_on(text: str) -> str:
    """A canonical detail in which the salt has another last digit."""
    detail = json.loads(text)
    detail["salt"] = detail["salt"][:-1] + ("0" if detail["salt"][-1] != "0" else "1")
    return canonical_json(detail).decode()


def _with(row: Row, column: int, value: Any) -> Row:
    return (*row[:column], value, *row[column + 1 :])


def _replaced(rows: Sequence[Row], place: int, row: Row) -> list[Row]:
    return [*rows[:place], row, *rows[place + 1 :]]


def _shifted(rows: Sequence[Row], by: int) -> list[Row]:
    return [_with(row, _SEQ, row[_SEQ] + by) for row in rows]
