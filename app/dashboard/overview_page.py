"""The overview: which datasets it lists and in which order, read from its address; and its small charts of spending."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from app.access.keys import StoredKey
from app.dashboard import words
from app.dashboard.words import Bar
from app.releases.datasets import Summary
from app.releases.overview import Overview, Spending
from core.ledger.entry import LedgerEntry

TABLE_FROM = 6  # datasets; fewer are cards
LISTED = 500  # rows of the table; a search finds the others
_LONGEST = 100
_WIDTH, _HEIGHT = 100, 24  # of a chart, in its own units
_SCARCE = 10  # a budget with less than a tenth left


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A dataset as the overview shows it. `chart` is None for who does not read the ledger."""

    dataset: Summary
    bar: Bar
    last: LedgerEntry | None
    chart: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """What the address asks for: a text that rows have, and the order of rows. What cannot be read is ignored."""

    text: str
    order: str

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Listing:
        """From an address."""
        text = "".join(letter for letter in query.get("q", "").strip()[:_LONGEST] if letter.isprintable())
        return cls(text, query["sort"] if query.get("sort") in ORDERS else "name")

    def address(self, order: str) -> str:
        """The same rows in another order."""
        fields = {"q": self.text, "sort": "" if order == "name" else order}
        query = urlencode({name: value for name, value in fields.items() if value})
        return f"/?{query}" if query else "/"

    def rows(self, shown: Overview) -> list[Row]:
        """The rows that fit, sorted."""
        rows = [_row(shown, dataset) for dataset in shown.datasets if self.text.casefold() in search_text(dataset)]
        return sorted(rows, key=ORDERS[self.order][1])


ORDERS: Mapping[str, tuple[str, Callable[[Row], Any]]] = {
    "name": ("Dataset", lambda row: row.dataset.name),
    "spent": ("Spent", lambda row: (-row.dataset.drawn.nano, row.dataset.name)),
    "remaining": ("Remaining", lambda row: (row.dataset.budget.remaining.nano, row.dataset.name)),
    "activity": ("Last activity", lambda row: (-(row.last.seq if row.last else 0), row.dataset.name)),
}


def search_text(dataset: Summary) -> str:
    """What a search looks in: the name, the description and the attributes."""
    return " ".join([dataset.name, dataset.description, *dataset.domain.names]).casefold()


def _row(shown: Overview, dataset: Summary) -> Row:
    spending = shown.spending.get(dataset.name)
    return Row(
        dataset=dataset,
        bar=words.bar(dataset),
        last=shown.newest_entries.get(dataset.name),
        chart=None if spending is None else step_path(spending, dataset.budget.granted.nano),
    )


def step_path(spending: Spending, granted: int) -> str:
    """The path of an SVG: spent epsilon after each charge, as steps; its full height is what was granted."""
    levels = [spending.before, *spending.after]
    across = _WIDTH / len(levels)
    heights = [f"{_HEIGHT - _HEIGHT * min(1.0, level / (granted or 1)):.1f}" for level in levels]
    steps = "".join(f"H{across * i:.1f}V{height}" for i, height in enumerate(heights[1:], start=1))
    return f"M0 {heights[0]}{steps}H{_WIDTH}"


@dataclass(frozen=True, slots=True)
class Glance:
    """What an admin sees first: keys in use by role, datasets, and those whose budget is nearly spent."""

    keys: Mapping[str, int]
    open_datasets: int
    closed_datasets: int
    scarce: tuple[str, ...]


def glance(keys: Sequence[StoredKey], datasets: Sequence[Summary]) -> Glance:
    """From the keys that were ever issued, and all datasets."""
    in_use = Counter(key.principal.role.value for key in keys if key.revoked_at is None)
    open_ones = [dataset for dataset in datasets if not dataset.closed]
    scarce = (each for each in open_ones if _SCARCE * each.budget.remaining.nano < each.budget.granted.nano)
    return Glance(
        keys=dict(in_use),
        open_datasets=len(open_ones),
        closed_datasets=len(datasets) - len(open_ones),
        scarce=tuple(each.name for each in scarce),
    )
