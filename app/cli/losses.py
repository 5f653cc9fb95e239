"""What a check tells a curator: columns, rows, and why rows are lost. Printed here, never sent, stored or logged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.output import note, show_fields, show_table

if TYPE_CHECKING:
    from app.ingest.losses import Losses

_SHOWN = 8  # names of columns that are not read
_HINTS = {
    "number": "numbers are written 1234.5, with a decimal point and nothing between thousands",
    "integer": "whole numbers are written 12 or 12.0, with nothing between thousands",
    "date": "dates are written 2026-12-31",
    "datetime": "moments are written 2026-12-31T23:59:59, with an offset such as +01:00 where they have one",
    "category": "values are texts",
}


def show_losses(losses: Losses, file: Path, names: Sequence[str] | None) -> None:
    """The whole report: fields and a table on standard output, and remarks on what to mend."""
    ingest = losses.ingest
    fields: list[tuple[str, Any]] = [("columns", column_words(losses, names))]
    fields += [
        ("rows read", ingest.rows_read),
        ("rows kept", ingest.rows_kept),
        ("rows dropped", _dropped_words(losses)),
        ("rows clipped", share(ingest.rows_clipped, ingest.rows_read)),
    ]
    if losses.ids_missing is not None:
        fields.append(("rows over limit", share(ingest.rows_over_limit, ingest.rows_read)))
    show_fields(fields)
    show_columns(losses)
    for hint in hints(losses, file):
        note(hint)


def column_words(losses: Losses, names: Sequence[str] | None) -> str:
    """Which columns were found, and which are not read; without a header, which are looked for."""
    wanted = [each.attribute.name for each in losses.columns]
    if names is None:
        return f"{', '.join(wanted)}, looked for in every line"
    from app.cli.header import printable

    others = [name for name in names if name not in wanted]
    further = f", … ({len(others)} in all)" if len(others) > _SHOWN else ""
    unread = f"; not read: {', '.join(map(printable, others[:_SHOWN]))}{further}" if others else ""
    return f"all {len(wanted)} found: {', '.join(wanted)}{unread}"


def show_columns(losses: Losses) -> None:
    """A line for each column that loses something or has odd values; nothing where none does."""
    from app.ingest.losses import keeps_others

    losing = [each for each in losses.columns if each.dropped or each.clipped or each.without_value or each.unlisted]
    if not losing:
        return
    clips = losing[0].clips
    kept = losses.ingest.rows_kept + losses.ingest.rows_over_limit
    bounds = ("below, clipped", "above, clipped") if clips else ("below", "above")
    rows = [
        (
            each.attribute.name,
            each.attribute.kind,
            *(_kept_or_lost(number, kept=each.attribute.keeps_missing) for number in (each.missing, each.unreadable)),
            _kept_or_lost(each.unlisted, kept=keeps_others(each.attribute)),
            *(share(number, kept) if clips else number for number in (each.below, each.above)),
        )
        for each in losing
    ]
    show_table(("column", "kind", "missing", "unreadable", "not listed", *bounds), rows)
    if sum(bool(each.dropped) for each in losing) > 1:
        note("A row that several columns drop is counted in each of them.")


def hints(losses: Losses, file: Path) -> Iterator[str]:
    """What to mend, in sentences."""
    from app.cli.header import is_utf8, to_utf8
    from app.ingest.causes import BadLine

    for each in losses.columns:
        if each.unreadable:
            yield f"'{each.attribute.name}' has unreadable values: {_HINTS[each.attribute.kind]}."
    unlisted = [f"'{each.attribute.name}'" for each in losses.columns if each.unlisted]
    if unlisted:
        yield f"Values of {', '.join(unlisted)} that are not listed: they must match letter by letter, capitals too."
        if not is_utf8(file):
            yield f"The file is not UTF-8, perhaps Latin-1. Make a copy: {to_utf8(file, 'LATIN1')}"
    if BadLine.FIELDS in losses.bad_lines:
        yield "Some lines have more or fewer fields than the first: a field with a comma in it needs double quotes."


def worst_words(losses: Losses) -> str:
    """The columns that lose the most, for the question whether to publish; empty where no column loses anything."""
    parts = []
    for each in losses.worst():
        lost = [f"{each.dropped:,} dropped"] * bool(each.dropped) + [f"{each.clipped:,} clipped"] * bool(each.clipped)
        parts.append(f"{each.attribute.name} ({', '.join(lost)})")
    lines = sum(losses.bad_lines.values())
    if lines:
        parts.append(f"lines that are no rows ({lines:,})")
    return ", ".join(parts)


def share(number: int, total: int) -> Any:
    """A number of rows with its percentage; the number alone where it is 0 or all."""
    if not number or not total:
        return number
    percent = 100 * number / total
    shown = "<0.1" if percent < 0.1 else f"{percent:.1f}" if percent < 10 else f"{percent:.0f}"
    return f"{number:,} ({shown.removesuffix('.0')} %)"


def _kept_or_lost(number: int, *, kept: bool) -> Any:
    return f"{number:,} (kept)" if number and kept else number


def _dropped_words(losses: Losses) -> Any:
    """How many rows are dropped, and why; the reasons add up."""
    from app.ingest.causes import BadLine

    reasons = [
        *((f"as lines {cause.value}", losses.bad_lines.get(cause, 0)) for cause in BadLine),
        ("without a usable id of a person", losses.ids_missing or 0),
        ("with an id of more than 256 bytes", losses.ids_too_long or 0),
        ("for a value", losses.by_values),
    ]
    numbers = ", ".join(f"{number:,} {reason}" for reason, number in reasons if number)
    dropped = share(losses.ingest.rows_dropped, losses.ingest.rows_read)
    return f"{dropped}: {numbers}" if numbers else dropped
