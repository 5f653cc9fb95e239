"""What a person sees of a reply: HTML in a notebook, a line in a terminal, a chart by matplotlib."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

import rugnik
from app.cli.asking import sides
from rugnik import OfflineRelease, errors, wire
from rugnik.shown.answers import cell_names
from rugnik.shown.digits import between, value
from rugnik.shown.plots import plotted
from rugnik.shown.view import Bars, Map, Points, View, Whiskers
from rugnik.shown.views import VIEWS, view_of
from tests.support.bundles import bundle_with, stored
from tests.support.documents import ROOT

EVIL = "<script>alert('\"&')</script>"
PARTS = {"b", "circle", "div", "line", "rect", "svg", "table", "td", "text", "th", "tr"}


class Reading(HTMLParser):  # its methods have the names and the meaning of the base class
    """The elements, attributes and texts of a page, which has to close whatever it opens."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: D102
        self.open.append(tag)
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:  # noqa: D102
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:  # noqa: D102
        self.text += data


def evil(reply: Any) -> Any:
    """The same JSON, where every text is a hostile one, and every number is as it was."""
    if isinstance(reply, dict):
        return {name: evil(each) for name, each in reply.items()}
    if isinstance(reply, list):
        return [evil(each) for each in reply]
    return EVIL if isinstance(reply, str) and not reply[:1].isdigit() else reply


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> OfflineRelease:
    """A release that answers without a service."""
    path = tmp_path_factory.mktemp("bundle") / "x.rugnik"
    path.write_bytes(bundle_with(stored()).to_bytes())
    return rugnik.open(path)


@pytest.fixture(scope="module")
def answers(opened: OfflineRelease) -> dict[str, wire.Answer]:
    """An answer to each question."""
    axes = opened.synopsis().attributes
    names = [axis.name for axis in axes if axis.kind != "category"]
    centers = opened.clusters(2).centers
    return {
        "count": opened.count(),
        "counts": opened.counts([{}, {names[0]: (None, None)}]),
        "marginal": opened.marginal(names[0]),
        "map": opened.marginal(names[:2]),
        "quantiles": opened.quantiles(names[0]),
        "moments": opened.moments(),
        "regression": opened.regression(names[0], names[1:]),
        "components": opened.components(),
        "conditional": opened.conditional(names[0], names[1]),
        "information": opened.information(names[:2]),
        "hotspots": opened.hotspots(names[:1]),
        "clusters": opened.clusters(2),
        "scan": opened.scan_clusters(2, 4),
        "assign": opened.assign(centers, k=2),
        "rows": opened.rows(30),
        "synopsis": opened.synopsis(),
    }


RECORDS: dict[type[wire.Reply], dict[str, Any]] = {
    wire.Dataset: {
        "name": "city",
        "description": "People.",
        "state": "open",
        "attributes": [{"name": "age", "lower": 0, "upper": 100}, {"name": "sex", "kind": "category", "values": ["f"]}],
        "unit": {"kind": "record", "column": None, "max_rows": None},
        "budget": {"granted": "3", "spent": "1", "remaining": "2"},
        "releases": [{"id": "r1", "state": "published", "epsilon": "1", "synopsis": {"digest": "d"}, "label": "May"}],
    },
    wire.Release: {
        "id": "r1",
        "dataset": "city",
        "state": "published",
        "plan": {
            "order": {"attributes": ["age"], "label": "May"},
            "grid": {"cells_per_axis": 4, "dimensions": 1, "cells": 4, "shape": [4]},
            "threshold": None,
            "noise": {"mechanism": "m", "epsilon_histogram": "1", "epsilon_size": "0", "cell_sd": 1.4, "size_sd": None},
            "size": 500,
        },
        "charge": {"epsilon": "1", "seq": 2},
        "synopsis": {"digest": "d"},
    },
    wire.Head: {"seq": 3, "hash": "h"},
    wire.Card: {
        "subject": [{"name": "synopsis.bin", "digest": {"sha256": "d"}}],
        "predicateType": "p",
        "predicate": {"about": {"contact": "c"}, "on_record": True},
    },
    wire.LedgerPage: {
        "entries": [
            {
                "seq": 1,
                "kind": "grant",
                "dataset": "city",
                "release": None,
                "epsilon": "3",
                "actor": "a",
                "at": "2026-01-01",
                "detail": {},
                "previous": "p",
                "hash": "h",
            }
        ],
        "next": None,
    },
}


def test_every_answer_is_drawn(answers: dict[str, wire.Answer]) -> None:
    """With a chart or a table, its release, and elements that need no script and no style sheet."""
    for name, answer in answers.items():
        page = Reading(answer._repr_html_())  # type: ignore[attr-defined]
        assert page.names <= PARTS, name
        assert {"table", "svg"} & page.names, name
        assert answer.release in page.text
        line = repr(answer)
        assert line.startswith(f"{type(answer).__name__}(")
        assert len(line) < 400
        assert "\n" not in line


def test_every_record_is_drawn() -> None:
    """Datasets, releases, the ledger, and a type that has no view of its own."""
    for kind, fields in RECORDS.items():
        reply = kind.of(fields)
        assert Reading(reply._repr_html_()).names <= PARTS
        assert repr(reply).startswith(f"{kind.__name__}(")
    assert "May" in repr(wire.Release.of(RECORDS[wire.Release]))
    assert "May" in Reading(wire.Dataset.of(RECORDS[wire.Dataset])._repr_html_()).text


def test_hostile_names_stay_texts(answers: dict[str, wire.Answer]) -> None:
    """Names of attributes, categories, datasets and keys are other people's: no element comes of them."""
    replies: list[wire.Reply] = [type(each).of(evil(dict(each.raw))) for each in answers.values()]
    replies += [kind.of(evil(fields)) for kind, fields in RECORDS.items()]
    grouped = {"groups": [{"value": EVIL, "answer": dict(answers["count"].raw)}], "group_by": EVIL}
    replies.append(wire.Grouped.of({**answers["count"].raw, **grouped}))
    seen = 0
    for reply in replies:
        html = reply._repr_html_()
        page = Reading(html)
        assert page.names <= PARTS
        assert "script" not in page.names
        assert page.attributes.isdisjoint({"onclick", "href", "src"})
        seen += "<script>" in page.text
    assert seen >= len(replies) - 2


def test_the_secret_of_a_key_is_not_drawn() -> None:
    """A notebook that is passed on holds what it has drawn."""
    fields = {"id": "i", "name": "n", "role": "admin", "datasets": None, "created_at": "c", "revoked_at": None}
    assert "CANARY" not in wire.NewKey.of(fields | {"key": "CANARY"})._repr_html_()


def test_numbers_have_the_digits_that_their_interval_leaves() -> None:
    """Two digits of its width; rows are whole; dates and what is not there stay as they are."""
    assert value(5.30962, 5.2811, 5.3381) == "5.310"
    assert value(1234567.89, 1200000, 1300000) == "1,234,568"
    assert between(0.00012345, 0.00023456) == "0.00012 to 0.00023"
    assert (value(14285.71), value(-1.5), value(0.58823)) == ("14,286", "-1.5", "0.5882")
    assert (value(None), value("2026-01-31"), value(7), value(float("inf"))) == ("n/a", "2026-01-31", "7", "inf")


def test_cells_of_whole_numbers_are_named_by_the_numbers_in_them() -> None:
    """Their edges lie between two of them; nobody asks about -0.5."""
    axis = wire.Axis(name="hour", kind="integer", edges=(-0.5, 1.5, 2.5), missing=True)
    named = [cell_names([axis], axis.side(place)) for place in range(axis.cells)]
    assert named == [["0 … 1"], ["2"], ["(missing)"]]
    assert wire.Axis(name="x", edges=(-0.5, 1.5)).shown((-0.5, 1.5)) == (-0.5, 1.5)


def test_cells_of_dates_are_named_by_their_first_and_last_day() -> None:
    """The last edge of a calendar's last day is that day itself: no date is after it."""
    axis = wire.Axis(name="day", kind="date", edges=("2026-02-01", "2026-02-02", "2026-03-01"), missing=True)
    named = [cell_names([axis], axis.side(place)) for place in range(axis.cells)]
    assert named == [["2026-02-01"], ["2026-02-02 … 2026-02-28"], ["(missing)"]]
    assert axis.shown(("9999-01-01", "9999-12-31")) == ("9999-01-01", "9999-12-31")
    assert axis.shown(("9999-12-31", "9999-12-31")) == ("9999-12-31", "9999-12-31")


def test_the_end_of_a_cell_of_datetimes_is_said_to_be_beyond_it() -> None:
    """As in `where`: the moment at the upper edge belongs to the next cell."""
    edges = ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z")
    axis = wire.Axis(name="at", kind="datetime", edges=edges)
    assert sides((axis,)) == ["at from", "at before"]
    assert cell_names([axis], axis.side(0)) == [f"{edges[0]} … before {edges[1]}"]


def test_hotspots_and_information_say_what_was_found(answers: dict[str, wire.Answer]) -> None:
    """In one line of text; without regions there is no table and no chart."""
    assert repr(answers["hotspots"]).endswith("out at level 0.95)")
    none = wire.Hotspots.of(dict(answers["hotspots"].raw) | {"regions": []})
    assert "no region stands out" in repr(none)
    assert not view_of(none).tables
    assert "bits" in repr(answers["information"])


@pytest.fixture
def pyplot() -> Iterator[Any]:
    """matplotlib without a screen."""
    mpl.use("agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415 - after its backend is chosen

    yield plt
    plt.close("all")


def test_a_chart_is_plotted_on_axes(answers: dict[str, wire.Answer], pyplot: Any) -> None:
    """New ones or given ones; an answer without a chart says so."""
    for name, answer in answers.items():
        if not view_of(answer).charts:
            with pytest.raises(errors.UnfitArgument, match=f"{type(answer).__name__} has no chart"):
                answer.plot()
            continue
        axes = answer.plot()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            axes.figure.canvas.draw()
        assert axes.get_xlabel(), name
    _, given = pyplot.subplots()
    assert answers["marginal"].plot(ax=given) is given


LONG = tuple(f"2026-{month:02}-01 … 2026-{month:02}-28" for month in range(1, 13))
CROWDED = {
    "names": Whiskers("rows", ("noise and cut cells", "noise alone"), (5.0, 5.0), (4.0, 4.5), (6.0, 5.5)),
    "many names": Whiskers("rows", LONG * 2, (5.0,) * 24, (4.0,) * 24, (6.0,) * 24),
    "days": Whiskers("day", ("0.5",), (20500.0,), (20499.0,), (20501.0,), ("2026-02-15", "2026-02-17")),
    "bars": Bars("day", (5.0,) * 12, (None,) * 12, (None,) * 12, LONG, ("2026-01-01", "2026-12-28")),
    "map": Map(("day", "day"), ((1.0,) * 12,) * 12, (LONG, LONG), ((LONG[0], LONG[-1]),) * 2),
    "points": Points(
        ("day", "day"), *(((20500.0 + end, 20500.0 + end),) for end in (0, -1, 1)), (1.0,), (("a", "b"), ("a", "b"))
    ),
}


@pytest.mark.parametrize("crowded", CROWDED)
def test_no_label_of_a_saved_chart_is_cut_or_covers_another(pyplot: Any, crowded: str) -> None:
    """Of axes that `plot()` makes: long names of cells and days fit into the figure, and ticks stand apart."""
    axes = plotted(View("t", "", (CROWDED[crowded],)), None)
    figure = axes.figure
    figure.savefig(io.BytesIO(), format="png")
    for axis in (axes.xaxis, axes.yaxis):
        first, last = sorted(axis.get_view_interval())
        ticks = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
        labels = [label for place, label in ticks if first <= place <= last]
        boxes = [label.get_window_extent() for label in labels]
        titles = [axis.label.get_window_extent()] if axis.label.get_text() else []
        for box in (*boxes, *titles):
            assert box.x0 >= 0, crowded
            assert box.y0 >= 0, crowded
            assert box.x1 <= figure.bbox.x1, crowded
            assert box.y1 <= figure.bbox.y1, crowded
        if labels and labels[0].get_rotation() == 0:
            assert not any(one.overlaps(other) for one, other in pairwise(boxes)), crowded
    assert pyplot.fignum_exists(figure.number)


@pytest.mark.usefixtures("pyplot")
def test_dates_are_plotted_as_dates(answers: dict[str, wire.Answer]) -> None:
    """The same day on both sides: days since 1970."""
    quantile = {"q": 0.5, "value": "2026-03-01"}
    ends = {"low": "2026-02-01", "high": "2026-04-01"}
    raw = {
        **answers["quantiles"].raw,
        "quantiles": [{**quantile, "interval": {"level": 0.95, **ends}, "discretisation": ends}],
    }
    answer = wire.Quantiles.of(raw)
    axes = answer.plot()
    axes.figure.canvas.draw()
    assert any(label.get_text().startswith("2026-") for label in axes.get_xticklabels())
    assert "2026-02-01" in Reading(answer._repr_html_()).text


def test_without_matplotlib_a_sentence_says_what_to_install(tmp_path: Path) -> None:
    """And `_repr_html_` needs neither matplotlib nor pandas."""
    (tmp_path / "x.rugnik").write_bytes(bundle_with(stored()).to_bytes())
    script = (
        "import sys; sys.modules.update(matplotlib=None, pandas=None)\n"
        "import rugnik; answer = rugnik.open(sys.argv[1]).count(); assert '<svg' in answer._repr_html_()\n"
        "try: answer.plot()\nexcept rugnik.errors.MissingLibrary as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "x.rugnik")],
        check=False,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.stdout == "plot() needs matplotlib: pip install matplotlib. to_pandas() does not.\n", done.stderr


def test_every_view_is_of_a_type_of_the_package() -> None:
    """The table names types that are exported, and each answer that has a table of numbers has a view."""
    assert all(getattr(wire, kind.__name__) is kind for kind in VIEWS)


@pytest.mark.usefixtures("pyplot")
def test_dollars_in_names_are_plain_text_on_axes() -> None:
    """matplotlib reads what stands between two of them as TeX, and fails where it is none."""
    names = ("$ 5 to $ 10", r"$\fraction$")
    axes = plotted(View("t", "", (Bars("US$ a $b", (1.0, 2.0), (None, None), (None, None), names),)), None)
    axes.figure.canvas.draw()
    assert [label.get_text().replace(r"\$", "$") for label in axes.get_xticklabels()] == list(names)


def test_a_line_says_what_an_answer_says(answers: dict[str, wire.Answer]) -> None:
    """The fitted line of a regression, shares of components, and whose release a card is about."""
    assert repr(answers["regression"]).startswith(f"Regression({answers['regression'].target} = ")  # type: ignore[attr-defined]
    assert "shares of variance" in repr(answers["components"])
    assert "cells of" in repr(answers["conditional"])
    predicate = {"release": {"id": "r1"}, "dataset": {"name": "city"}, "privacy": {"epsilon": "1"}}
    assert "release r1 of city: epsilon 1" in repr(wire.Card.of({**RECORDS[wire.Card], "predicate": predicate}))
