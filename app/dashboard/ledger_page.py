"""The filters of the ledger page, read from its address. A value that cannot be read is ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from urllib.parse import urlencode

from app.access.principal import Principal
from app.ledger.history import Search
from core.ledger.kinds import Kind

_LONGEST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What the form asks for, each as text that the form can show again."""

    dataset: str = ""
    kind: str = ""
    actor: str = ""
    since: str = ""
    until: str = ""
    text: str = ""
    before: int | None = None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Filters:
        """From an address."""
        before = query.get("before", "")
        return cls(
            dataset=_line(query.get("dataset", "")),
            kind=query["kind"] if query.get("kind") in set(Kind) else "",
            actor=_line(query.get("actor", "")),
            since=_day_text(query.get("since", "")),
            until=_day_text(query.get("until", "")),
            text=_line(query.get("text", "")),
            before=int(before) if before.isascii() and before.isdigit() and len(before) < 18 else None,
        )

    def search(self, caller: Principal) -> Search:
        """The same for the ledger, within what this caller may see."""
        names = caller.datasets
        if self.dataset:
            names = frozenset({self.dataset} if caller.may_see(self.dataset) else ())
        return Search(
            datasets=names,
            about_keys=caller.sees_whole_ledger,
            kind=Kind(self.kind) if self.kind else None,
            actor=self.actor or None,
            since=date.fromisoformat(self.since) if self.since else None,
            until=date.fromisoformat(self.until) if self.until else None,
            text=self.text,
        )

    @property
    def narrow(self) -> bool:
        """Whether anything is filtered out."""
        return replace(self, before=None) != Filters()

    def address(self, before: int | None) -> str:
        """The page that reads on before a number, or the newest."""
        fields = {name: getattr(self, name) for name in ("dataset", "kind", "actor", "since", "until", "text")}
        fields |= {"before": str(before)} if before is not None else {}
        query = urlencode({name: value for name, value in fields.items() if value})
        return f"/ledger?{query}" if query else "/ledger"


def _line(text: str) -> str:
    return "".join(letter for letter in text.strip()[:_LONGEST] if letter.isprintable())


def _day_text(text: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return ""
    return day.isoformat() if day < date.max else ""
