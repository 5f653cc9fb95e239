"""A table with every kind of attribute, its truth, and a service that has published it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np

from tests.support.service.api import Api

ZONE = timezone(timedelta(hours=1))
ATTRIBUTES: list[dict[str, Any]] = [
    {"name": "age", "kind": "integer", "lower": 0, "upper": 99, "missing": "keep"},
    {"name": "income", "lower": 0, "upper": 1000},
    {"name": "sex", "kind": "category", "values": ["f", "m", "=x"], "other": True, "missing": "keep"},
    {"name": "arrived", "kind": "date", "lower": "2026-01-01", "upper": "2026-12-31"},
    {
        "name": "at",
        "kind": "datetime",
        "lower": "2026-01-01T00:00:00+01:00",
        "upper": "2027-01-01T00:00:00+01:00",
    },
]
KINDS = {each["name"]: each.get("kind", "number") for each in ATTRIBUTES}
SEXES = ("f", "m", "=x", "unlisted", None)
LABELS = ("f", "m", "=x", "(other)", "(missing)")
Row = Mapping[str, Any]


def truth(rows: int = 3000, seed: int = 5) -> list[dict[str, Any]]:
    """Rows with clusters on the ordered attributes, gaps, and categories that are not on the list."""
    rng = np.random.default_rng(seed)
    first = datetime(2026, 1, 1, tzinfo=ZONE)
    table = []
    for _ in range(rows):
        low = rng.random() < 0.6
        age = int(np.clip(rng.normal(25 if low else 70, 6), 0, 99))
        day = int(np.clip(rng.normal(60 if low else 250, 20), 0, 364))
        table.append(
            {
                "age": None if rng.random() < 0.05 else age,
                "income": float(np.clip(rng.normal(200 if low else 700, 60), 0, 1000)),
                "sex": SEXES[rng.choice(5, p=[0.4, 0.3, 0.1, 0.1, 0.1])],
                "arrived": date(2026, 1, 1) + timedelta(days=day),
                "at": first + timedelta(days=day, microseconds=int(rng.integers(0, 86_400_000_000))),
            }
        )
    return table


def csv_of(table: list[dict[str, Any]]) -> bytes:
    """The rows as a curator uploads them."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [each["name"] for each in ATTRIBUTES])
    writer.writeheader()
    for row in table:
        writer.writerow({**row, "at": row["at"].isoformat()})
    return text.getvalue().encode()


def label_of(sex: str | None) -> str:
    """The cell of a category."""
    return "(missing)" if sex is None else sex if sex in LABELS else "(other)"


def lies_in(row: Row, where: Mapping[str, str]) -> bool:
    """Whether a row lies in a part, by the rules that analysts read: written here once more, from the words alone."""
    return all(_matches(name, row[name], part) for name, part in where.items())


def _matches(name: str, value: Any, part: str) -> bool:
    if name == "sex":
        return label_of(value) in part.split(",")
    if part == "(missing)" or value is None:
        return part == "(missing)" and value is None
    low, dots, high = part.partition("..")
    lower, upper = (value_of(name, end) if end else None for end in (low, high if dots else low))
    above = lower is None or value >= lower
    if upper is None:
        return above
    closed = KINDS[name] in ("integer", "date") or (name == "income" and upper == 1000)
    return above and (value <= upper if closed else value < upper)


def value_of(name: str, text: Any) -> Any:
    """A value as an answer has it."""
    match KINDS[name]:
        case "date":
            return date.fromisoformat(text)
        case "datetime":
            moment = datetime.fromisoformat(text)
            return moment if moment.tzinfo else moment.replace(tzinfo=ZONE)
        case _:
            return float(text)


@dataclass(frozen=True)
class Desk:
    """A service on SQLite with a release of the table, and an analyst who asks."""

    api: Api
    release: str
    table: list[dict[str, Any]]

    def get(self, question: str, **options: Any) -> Any:
        """One question; `params` may hold `where` and all else."""
        return self.api.analyst("GET", f"/v1/releases/{self.release}/{question}", **options)

    def asked(self, question: str, **params: Any) -> Any:
        """The JSON of an answer that there must be."""
        reply = self.get(question, params=params)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def post(self, question: str, body: Any) -> Any:
        """One workload."""
        return self.api.analyst("POST", f"/v1/releases/{self.release}/{question}", json=body)

    def rows_in(self, where: Mapping[str, str] | None) -> list[dict[str, Any]]:
        """The rows of a part."""
        return [row for row in self.table if lies_in(row, where or {})]


def published(api: Api, attributes: list[str], table: list[dict[str, Any]], dataset: str = "mixed") -> Desk:
    """The release of some attributes at an epsilon that leaves next to no noise."""
    if api.curator("GET", f"/v1/datasets/{dataset}").status_code == 404:
        registered = api.register(dataset, "90", ATTRIBUTES)
        assert registered.status_code == 201, registered.text
    order = api.order(dataset, epsilon="30", attributes=attributes, size={"declared": len(table)})
    assert order.status_code == 201, order.text
    release = str(order.json()["id"])
    upload = api.upload(release, csv_of(table))
    assert upload.status_code == 200, upload.text
    return Desk(api, release, table)
