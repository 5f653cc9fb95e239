"""Random neighbouring uploads: any format, any kind of attribute, records or persons, values of any sort."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from app.access.permissions import Role
from app.ingest.formats import MediaType
from tests.app.ingest.mixed import FIELDS, GOOD, LAYERED, MIXED, SHAPES, Layout, json_line

_COLUMNAR = (MediaType.PARQUET, MediaType.ARROW_STREAM)
_text = SHAPES["category"][0][1]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two files that differ in one unit, and the terms of a dataset and an order for both."""

    attributes: list[dict[str, Any]]
    unit: dict[str, Any] | None
    order: dict[str, Any]
    media_type: MediaType
    files: tuple[bytes, bytes]
    reader: Role  # who looks beside analysts

    @property
    def about(self) -> str:
        """What is tried, in a few words."""
        return f"{self.media_type.value}, {self.order['rule']}, {self.unit or 'records'}, {self.order['size']}"


def neighbours(chance: random.Random) -> Neighbours:
    """A pair, the terms of which are drawn as well."""
    rule = chance.choice(["rugnik", "rugnik", "eugkm", "adaptive"])
    is_person = chance.random() < 0.5
    media_type = chance.choice(list(MediaType))
    size = chance.choice([{"declared": 500}, {"declared": 5000}, {"estimate": "0.05"}])
    order = {
        "epsilon": "0.1",
        "clusters": chance.randint(1, 4),
        "rule": rule,
        "size": size,
        "out_of_range": chance.choice(["clip", "drop"]),
        "label": "a",
    }
    names = (LAYERED if rule == "adaptive" else MIXED).names
    attributes = [fields for fields in FIELDS if fields["name"] in names]
    unit = {"kind": "person", "column": "person", "max_rows": chance.randint(1, 4)} if is_person else None
    own = chance.randint(1, 30) if is_person else 1
    write = _columnar if media_type in _COLUMNAR else _lines
    files = write(chance, media_type, others=chance.randint(0, 12), own=own, is_person=is_person)
    return Neighbours(attributes, unit, order, media_type, files, chance.choice(list(Role)))


def _places(chance: random.Random, others: int, own: int) -> list[bool]:
    """For each row of the larger file, whether it is of the unit that the smaller one lacks."""
    marks = [True] * own + [False] * others
    chance.shuffle(marks)
    return marks


def _person(chance: random.Random, *, is_own: bool) -> bytes:
    return b"new" if is_own else chance.choice([b"p1", b"p2", b"", b"w" * 300])


def _columnar(
    chance: random.Random, media_type: MediaType, *, others: int, own: int, is_person: bool
) -> tuple[bytes, bytes]:
    layout = Layout(chance, media_type)
    marked = [(is_own, layout.row(), _person(chance, is_own=is_own)) for is_own in _places(chance, others, own)]

    def body(rows: list[Any]) -> bytes:
        return layout.body([row for _, row, _ in rows], [name for _, _, name in rows] if is_person else None)

    return body([row for row in marked if not row[0]]), body(marked)


def _lines(
    chance: random.Random, media_type: MediaType, *, others: int, own: int, is_person: bool
) -> tuple[bytes, bytes]:
    line = _csv_line if media_type is MediaType.CSV else _json_line
    marked = [
        (is_own, line(chance, _person(chance, is_own=is_own) if is_person else None))
        for is_own in _places(chance, others, own)
    ]
    names = [*MIXED.names, *(["person"] if is_person else [])]
    header = ",".join(names).encode() + b"\n" if media_type is MediaType.CSV else b""

    def body(rows: list[tuple[bool, bytes]]) -> bytes:
        return header + b"".join(text + b"\n" for _, text in rows)

    return body([row for row in marked if not row[0]]), body(marked)


def _field(chance: random.Random, good: str) -> bytes:
    return good.encode() if chance.random() < 0.8 else _text(chance)


def _csv_line(chance: random.Random, person: bytes | None) -> bytes:
    """Fields that are values, nearly values, or anything; nothing that would part them from a person's name."""
    fields = [_field(chance, good).replace(b"\n", b"") for good in GOOD.values()]
    if person is not None:
        fields = [field.translate(None, b'",\r\0') for field in fields] + [person]
    elif chance.random() < 0.1:
        return chance.randbytes(chance.randrange(40)).replace(b"\n", b"")
    return b",".join(fields)


def _json_line(chance: random.Random, person: bytes | None) -> bytes:
    row: dict[str, Any] = {name: _field(chance, good).decode("utf-8", "replace") for name, good in GOOD.items()}
    for name in MIXED.names:
        if chance.random() < 0.1:
            row[name] = chance.choice([None, True, 3, 2.5, [], {"a": 1}, 10**30])
    if person is not None:
        row["person"] = person.decode()
    return json_line(row)
