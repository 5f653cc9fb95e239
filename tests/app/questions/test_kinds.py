"""Questions about a table with every kind of attribute: answers, parts, groups and files, beside the truth."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from app.main import create_app
from app.settings.settings import Settings
from rugnik import wire
from tests.support.service.api import Api, frozen_clock
from tests.support.service.mixed import KINDS, LABELS, ZONE, Desk, label_of, lies_in, published, truth, value_of

CALENDAR, LEDGER = ["age", "sex", "arrived"], ["income", "at", "sex"]
PARTS = {
    "calendar": [
        ["sex:f"],
        ["sex:(other),=x"],
        ["sex:(missing)"],
        ["age:20..60"],
        ["age:(missing)"],
        ["arrived:2026-02-03..2026-09-20"],
        ["age:..50", "sex:m,f", "arrived:2026-03-01.."],
    ],
    "ledger": [
        ["sex:m"],
        ["income:150..720.5"],
        ["at:2026-02-01T00:00:00+01:00..2026-08-01T12:00:00Z"],
        ["income:100..", "sex:(other),(missing)", "at:..2026-11-01T00:00:00"],
    ],
}


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Desk]]:
    """One service with two releases of the same rows: next to no noise, different attributes."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("kinds") / "data", log_level="warning", max_budget="90")
    with Api(create_app(settings, frozen_clock)) as api:
        table = truth()
        yield {"calendar": published(api, CALENDAR, table), "ledger": published(api, LEDGER, table)}


def parts() -> list[Any]:
    """Every part of each release."""
    return [pytest.param(desk, where, id=" ".join(where)) for desk, listed in PARTS.items() for where in listed]


def ordered(desk: str) -> list[str]:
    """The attributes of a release that are no categories."""
    return [name for name in (CALENDAR if desk == "calendar" else LEDGER) if name != "sex"]


def inside(axis: wire.Axis, place: int, row: dict[str, Any]) -> bool:
    """Whether a row lies in a cell, by what the axis says of its cells."""
    value = row[axis.name]
    if axis.kind == "category":
        return label_of(value) == axis.labels[place]
    side = axis.side(place)
    if value is None or side[0] is None:
        return value is None and side[0] is None
    low, high = (value_of(axis.name, end) for end in side)
    last = axis.kind == "number" and place == len(axis.edges) - 2
    return bool(low <= value < high or (last and value == high))


def histogram(axes: tuple[wire.Axis, ...], rows: list[dict[str, Any]]) -> list[int]:
    """The exact counts of all cells, the last axis fastest."""
    columns = [[[inside(axis, place, row) for row in rows] for place in range(axis.cells)] for axis in axes]
    cells = [[np.array(cell, dtype=bool) for cell in column] for column in columns]
    return [int(np.logical_and.reduce(cell).sum()) if rows else 0 for cell in product(*cells)]


@pytest.mark.parametrize(("desk", "where"), parts())
def test_a_count_holds_the_truth_and_a_snapped_one_is_the_truth(
    desks: dict[str, Desk], desk: str, where: list[str]
) -> None:
    """Ranges that cut cells have intervals around the truth; moved to edges, they have exactly the rows they name."""
    asked = dict(text.split(":", 1) for text in where)
    cut = desks[desk].asked("count", where=where)
    assert cut["interval"]["low"] <= len(desks[desk].rows_in(asked)) <= cut["interval"]["high"]
    snapped = desks[desk].asked("count", where=where, snap=True)
    moved = {name: f"{ends['low']}..{ends['high']}" for name, ends in snapped["snapped"].items()}
    assert set(moved) == {name for name in asked if name != "sex" and asked[name] != "(missing)"}
    assert snapped["count"] == len(desks[desk].rows_in({**asked, **moved}))


@pytest.mark.parametrize(("desk", "where"), parts())
def test_every_question_is_answered_about_a_part(desks: dict[str, Desk], desk: str, where: list[str]) -> None:
    """`slice` names whole cells, and each answer is about the rows that lie in them."""
    asks = desks[desk]
    moments = asks.asked("moments", where=where)
    part = moments["slice"]
    rows = asks.rows_in(part)
    assert set(part) == {text.split(":", 1)[0] for text in where}
    assert moments["parameters"]["where"] == sorted(where)
    assert moments["size"]["value"] == len(rows)
    for each in moments["attributes"]:
        values = [row[each["name"]] for row in rows if row[each["name"]] is not None]
        _mean_is_near(each, values)
    for name in ordered(desk):
        if part.get(name) != "(missing)":
            answer = asks.asked("quantiles", attribute=name, q=[0.5], where=where)
            assert answer["slice"] == part
            (median,) = answer["quantiles"]
            values = sorted(row[name] for row in rows if row[name] is not None)
            low, high = (value_of(name, median["interval"][end]) for end in ("low", "high"))
            assert low <= values[(len(values) - 1) // 2] <= high
            assert low <= value_of(name, median["value"]) <= high
    names = CALENDAR if desk == "calendar" else LEDGER
    for name in names:
        marginal = wire.Marginal.of(asks.asked("marginal", attributes=name, where=where))
        assert marginal.slice == part
        assert list(marginal.counts) == histogram(marginal.attributes, rows)


def _mean_is_near(each: dict[str, Any], values: list[Any]) -> None:
    """The mean of the gridded rows is no further from the truth than the grid moves it."""
    mean, reach = value_of(each["name"], each["mean"]["value"]), each["discretisation"]["mean"]
    match KINDS[each["name"]]:
        case "date":
            exact = fmean(value.toordinal() for value in values)
            assert abs(mean.toordinal() - exact) <= reach + 1
        case "datetime":
            exact = fmean(value.timestamp() for value in values)
            assert abs(mean.timestamp() - exact) <= reach + 1
        case _:
            assert abs(mean - fmean(values)) <= reach + 1e-9


@pytest.mark.parametrize(("desk", "where"), parts())
def test_a_part_of_the_synopsis_is_the_exact_histogram_of_its_rows(
    desks: dict[str, Desk], desk: str, where: list[str]
) -> None:
    """All attributes together, in JSON; its axes are those of the part."""
    synopsis = wire.Synopsis.of(desks[desk].asked("synopsis", where=where))
    rows = desks[desk].rows_in(synopsis.slice)
    assert list(synopsis.counts) == histogram(synopsis.attributes, rows)
    assert synopsis.grid.cells == len(synopsis.counts)
    assert not synopsis.size_declared


def test_clusters_of_a_part_lie_among_its_rows(desks: dict[str, Desk]) -> None:
    """On ordered attributes alone, in their own types; rows without one of them are left out."""
    for desk, where in (("calendar", []), ("calendar", ["sex:f"]), ("ledger", ["sex:m", "income:..900"])):
        answer = wire.Clusters.of(desks[desk].asked("clusters", k=2, where=where))
        names = ordered(desk)
        assert list(answer.attributes) == names
        rows = [row for row in desks[desk].rows_in(answer.slice) if all(row[name] is not None for name in names)]
        assert sum(answer.sizes) == pytest.approx(len(rows), abs=2)
        for center, certain in zip(answer.centers, answer.uncertainty, strict=True):
            for name, value, interval in zip(names, center, certain.center, strict=True):
                low, middle, high = (value_of(name, each) for each in (interval.low, value, interval.high))
                assert low <= middle <= high
                assert min(row[name] for row in rows) <= middle <= max(row[name] for row in rows)
        points = {"points": [list(center) for center in answer.centers], "k": 2, "where": where}
        assigned = desks[desk].post("clusters/assign", points).json()
        assert assigned["labels"] == [0, 1]
        assert assigned.get("slice") == answer.slice
    scan = desks["calendar"].asked("clusters/scan", k="2..3", where=["sex:f"])
    assert (scan["slice"], [line["k"] for line in scan["scan"]]) == ({"sex": "f"}, [2, 3])


GROUPED = [
    ("count", {}),
    ("count", {"where": ["age:20..60"], "level": 0.9}),
    ("marginal", {"attributes": "age,arrived"}),
    ("quantiles", {"attribute": "arrived", "q": [0.25, 0.5], "where": ["age:20..60"]}),
    ("moments", {}),
    ("clusters", {"k": 2}),
    ("clusters/scan", {"k": "2..3"}),
]


@pytest.mark.parametrize(("question", "params"), GROUPED)
def test_a_group_is_answered_like_the_part_that_it_is(
    desks: dict[str, Desk], question: str, params: dict[str, Any]
) -> None:
    """One group for each cell of the category, in order; each is the answer with that value in `where`."""
    desk = desks["calendar"]
    grouped = desk.asked(question, **params, group_by="sex")
    assert [group["value"] for group in grouped["groups"]] == list(LABELS)
    assert (grouped["group_by"], grouped["parameters"]["group_by"]) == ("sex", "sex")
    for group in grouped["groups"]:
        alone = desk.asked(question, **{**params, "where": [*params.get("where", []), f"sex:{group['value']}"]})
        assert group["answer"] == alone
    few = desk.asked(question, **{**params, "where": [*params.get("where", []), "sex:m,(other)"]}, group_by="sex")
    assert [group["value"] for group in few["groups"]] == ["m", "(other)"]
    assert few["groups"][0]["answer"] == grouped["groups"][1]["answer"]


def test_groups_add_up_to_the_whole(desks: dict[str, Desk]) -> None:
    """Every row lies in one group."""
    grouped = wire.Grouped.of(desks["calendar"].asked("count", group_by="sex")).answers(wire.Count)
    counts = {value: sum(label_of(row["sex"]) == value for row in desks["calendar"].table) for value in LABELS}
    assert {value: answer.count for value, answer in grouped.items()} == counts


def test_simultaneous_groups_share_what_may_go_wrong(desks: dict[str, Desk]) -> None:
    """Each of five groups has the level 1 - (1 - level) / 5, and the reply says so."""
    together = desks["calendar"].asked("moments", group_by="sex", simultaneous=True, level=0.9)
    assert (together["simultaneous"], together["level_of_each"]) == (True, pytest.approx(0.98))
    level = together["level_of_each"]
    alone = desks["calendar"].asked("moments", level=level, where=["sex:f"])
    assert together["groups"][0]["answer"] == alone
    assert "simultaneous" not in desks["calendar"].asked("moments", group_by="sex")
    assert desks["calendar"].get("moments?simultaneous=true").status_code == 422
    assert desks["calendar"].get("clusters/scan?k=2..3&group_by=sex&simultaneous=true").status_code == 422
    refused = desks["calendar"].get("moments?group_by=sex&simultaneous=true&level=0.999999")
    assert (refused.status_code, "5 groups" in refused.json()["detail"]) == (422, True)


def test_a_workload_has_parts_of_its_own_and_one_in_common(desks: dict[str, Desk]) -> None:
    """The common part restricts every box, by shares like the boxes themselves."""
    boxes, where = [["sex:f"], ["age:(missing)"], []], ["arrived:2026-02-03..2026-09-20"]
    together = desks["calendar"].post("counts", {"boxes": boxes, "where": where}).json()
    for i, box in enumerate(boxes):
        assert together["counts"][i] == desks["calendar"].asked("count", where=[*box, *where])["count"]


@pytest.mark.parametrize("desk", ["calendar", "ledger"])
@pytest.mark.parametrize("where", [[], ["sex:f,(missing)"]])
def test_cells_have_their_own_types_in_every_form(desks: dict[str, Desk], desk: str, where: list[str]) -> None:
    """Parquet and Arrow have dates, moments and texts; CSV has their texts; all of them have the counts of the JSON."""
    asks = desks[desk]
    synopsis = wire.Synopsis.of(asks.asked("synopsis", where=where))
    boxes = list(synopsis.boxes())
    names = [name for axis in synopsis.attributes for name in axis.columns]
    for form in ("parquet", "arrow"):
        table = read(asks, "synopsis", form, where=where)
        assert table["count"].to_pylist() == list(synopsis.counts)
        assert table.column_names == [*names, "count"]
        for x, axis in enumerate(each for each in synopsis.attributes for _ in each.columns):
            assert table.schema.types[x] == cell_type(axis)
            expected = [box[x] if axis.kind == "category" else none_or(axis.name, box[x]) for box in boxes]
            assert table.column(x).to_pylist() == expected
    lines = list(csv.reader(io.StringIO(asks.get("synopsis", params={"format": "csv", "where": where}).text)))
    assert lines[0] == [*names, "count"]
    assert [int(line[-1]) for line in lines[1:]] == list(synopsis.counts)
    for line, box in zip(lines[1:], boxes, strict=True):
        for text, value in zip(line, box, strict=False):
            shown = "'=x" if value == "=x" else "" if value is None else value
            assert text == shown or float(text) == shown
    frame = synopsis.to_pandas()
    assert list(frame.columns) == [*names, "count"]
    for axis in synopsis.attributes:
        kind = str(frame[axis.columns[0]].dtype)
        assert kind.startswith("datetime64") == (axis.kind in ("date", "datetime"))


def read(desk: Desk, question: str, form: str, **params: Any) -> pa.Table:
    """A file as pyarrow reads it."""
    body = desk.get(question, params={"format": form, **params}).content
    return pa.parquet.read_table(io.BytesIO(body)) if form == "parquet" else pa.ipc.open_stream(body).read_all()


def cell_type(axis: wire.Axis) -> pa.DataType:
    """The type that the ends of cells have in a file."""
    types = {"date": pa.date32(), "datetime": pa.timestamp("us", tz="+01:00"), "category": pa.string()}
    return types.get(axis.kind, pa.float64())


def none_or(name: str, end: Any) -> Any:
    """An end of a cell as Python has it."""
    return None if end is None else value_of(name, end)


@pytest.mark.parametrize("desk", ["calendar", "ledger"])
@pytest.mark.parametrize("where", [[], ["sex:f,(other)"], ["sex:(missing)"]])
def test_synthetic_rows_have_their_own_types_in_every_form(desks: dict[str, Desk], desk: str, where: list[str]) -> None:
    """The same rows in JSON, CSV and Parquet, all in the part asked for; null where a value is missing."""
    asks = desks[desk]
    answer = wire.Rows.of(asks.asked("rows", count=300, seed=3, where=where))
    names = list(answer.attributes)
    assert answer.kinds == tuple(KINDS[name] for name in names)
    plain = [dict(zip(names, row, strict=True)) for row in answer.rows]
    table = read(asks, "rows", "parquet", count=300, seed=3, where=where)
    types = {"integer": pa.int64(), "date": pa.date32(), "datetime": pa.timestamp("us", tz="+01:00")}
    types |= {"category": pa.string(), "number": pa.float64()}
    assert table.schema.types == [types[KINDS[name]] for name in names]
    typed = [{name: none_or(name, row[name]) if name != "sex" else row[name] for name in names} for row in plain]
    assert table.to_pylist() == typed
    assert all(lies_in(row, answer.slice or {}) for row in typed)
    lines = list(
        csv.DictReader(
            io.StringIO(asks.get("rows", params={"count": 300, "seed": 3, "format": "csv", "where": where}).text)
        )
    )
    for line, row in zip(lines, plain, strict=True):
        for name in names:
            value = row[name]
            shown = "'=x" if value == "=x" else "" if value is None else value
            assert line[name] == shown or float(line[name]) == shown
    frame = answer.to_pandas()
    assert [str(frame[name].dtype).split("[")[0] for name in names if KINDS[name].startswith("date")] == ["datetime64"]
    assert len(frame) == 300


def test_synthetic_rows_look_like_the_table(desks: dict[str, Desk]) -> None:
    """Shares of categories and gaps are those of the rows; whole numbers are whole and days are days."""
    answer = wire.Rows.of(desks["calendar"].asked("rows", count=20_000, seed=1))
    sexes = [row[1] for row in answer.rows]
    for label, share in zip(("f", "m", "=x", "(other)", None), (0.4, 0.3, 0.1, 0.1, 0.1), strict=True):
        assert sexes.count(label) / len(sexes) == pytest.approx(share, abs=0.03)
    assert [row[0] for row in answer.rows].count(None) / len(sexes) == pytest.approx(0.05, abs=0.02)
    assert all(row[0] is None or isinstance(row[0], int) for row in answer.rows)
    assert all(date.fromisoformat(str(row[2])).year == 2026 for row in answer.rows)


def test_a_part_has_an_etag_of_its_own(desks: dict[str, Desk]) -> None:
    """Other parts have other names, the order of their texts does not matter, and 304 is given for what is there."""
    desk = desks["calendar"]
    asked = ["moments", "clusters?k=2", "clusters/scan?k=2..3", "marginal?attributes=age", "synopsis", "rows?count=5"]
    asked += ["synopsis?format=csv", "synopsis?format=arrow", "rows?count=5&format=parquet", "count"]
    for question in asked:
        joint = "&" if "?" in question else "?"
        names = [question] + [f"{question}{joint}{part}" for part in ("where=sex:f", "where=sex:m")]
        if "rows" not in question and "synopsis" not in question:
            names.append(f"{question}{joint}group_by=sex")
        replies = [desk.get(name) for name in names]
        assert len({reply.headers["etag"] for reply in replies}) == len(names)
        for name, reply in zip(names, replies, strict=True):
            again = desk.get(name, headers={"If-None-Match": reply.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            assert desk.get(name).content == reply.content
    first, second = (
        desk.get(f"moments?where={a}&where={b}") for a, b in (("sex:f", "age:..50"), ("age:..50", "sex:f"))
    )
    assert first.headers["etag"] == second.headers["etag"]


BAD = {
    "moments?where=height:1..2": "There is no attribute of that name",
    "moments?where=sex:q": "f, m, =x, (other), (missing)",
    "moments?where=sex:": "Write a part as attribute:lower..upper",
    "moments?where=sex:f&where=sex:m": "no value in common",
    "marginal?attributes=age&where=arrived:2026-13-01..": "both days included",
    "quantiles?attribute=age&q=0.5&where=age:3.5..4": "whole numbers",
    "quantiles?attribute=sex&q=0.5": "",
    "clusters?k=2&where=arrived:(missing)": "keeps no missing values",
    "clusters/scan?k=2..3&where=age:60..20": "is empty",
    "synopsis?where=age:200..300": "outside its bounds, 0 to 99",
    "synopsis?format=csv&where=age:200..300": "outside its bounds, 0 to 99",
    "rows?format=parquet&where=sex:q": "f, m, =x, (other), (missing)",
    "count?where=arrived:2027-01-01": "outside its bounds, 2026-01-01 to 2026-12-31",
    "moments?group_by=age": "takes the name of a category",
    "moments?group_by=height": "it has: sex",
    "synopsis?group_by=sex": "There is no parameter of that name",
}


@pytest.mark.parametrize("question", BAD)
def test_a_part_that_is_none_is_refused_in_a_sentence(desks: dict[str, Desk], question: str) -> None:
    """422, with what can be asked for instead."""
    refused = desks["calendar"].get(question)
    assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
    assert BAD[question] in refused.json()["detail"]


def test_points_have_values_of_the_right_kind(desks: dict[str, Desk]) -> None:
    """Dates are texts, numbers are numbers, and a category has no place in a point."""
    right = desks["calendar"].post("clusters/assign", {"points": [[30, "2026-03-01"], ["30", "2026-03-01"]], "k": 2})
    assert right.status_code == 200
    for point in ([30, 20_000], [30, "March"], [30, "f", "2026-03-01"], ["old", "2026-03-01"]):
        assert desks["calendar"].post("clusters/assign", {"points": [point], "k": 2}).status_code == 422


def test_more_work_than_is_allowed_is_refused_by_the_size_of_the_part(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same question is refused about all groups and answered about a part."""
    folder = tmp_path_factory.mktemp("effort") / "data"
    settings = Settings(data_dir=folder, log_level="warning", max_answer_seconds=1.0, max_budget="90")
    with Api(create_app(settings, frozen_clock)) as api:
        desk = published(api, CALENDAR, truth())
        whole = desk.get("clusters?k=8&method=lloyd&group_by=sex")
        assert (whole.status_code, "groups" in whole.json()["detail"]) == (422, True)
        assert desk.get("clusters?k=8&method=lloyd&where=sex:f&where=age:20..40").status_code == 200


def test_a_thresholded_release_of_every_kind_is_asked_in_the_same_way(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Five attributes on more cells than are released: parts, groups and typed files, as where every cell is there."""
    folder = tmp_path_factory.mktemp("listed") / "data"
    settings = Settings(data_dir=folder, log_level="warning", max_budget="90", max_cells=10_000)
    with Api(create_app(settings, frozen_clock)) as api:
        desk = published(api, list(KINDS), truth())
        synopsis = wire.Synopsis.of(desk.asked("synopsis", where=["sex:f,m", "age:10..40"]))
        assert synopsis.threshold is not None
        assert synopsis.cells is not None
        rows = desk.rows_in(synopsis.slice)
        boxes = list(synopsis.boxes())
        table = read(desk, "synopsis", "parquet", where=["sex:f,m", "age:10..40"])
        assert table["count"].to_pylist() == list(synopsis.counts)
        assert table["sex"].to_pylist() == [box[4] for box in boxes]
        assert table["at_lower"].to_pylist() == [value_of("at", box[7]) for box in boxes]
        assert b"sex" in table.schema.metadata[b"slice"]
        size = desk.asked("moments", where=["sex:f,m", "age:10..40"])["size"]
        assert size["value"] <= len(rows) <= size["interval"]["high"]
        for question, params in (
            ("count", {}),
            ("moments", {}),
            ("clusters", {"k": 2}),
            ("marginal", {"attributes": "at"}),
        ):
            grouped = desk.asked(question, **params, group_by="sex")
            for group in grouped["groups"]:
                assert group["answer"] == desk.asked(question, **params, where=[f"sex:{group['value']}"])
        drawn = read(desk, "rows", "parquet", count=200, where=["sex:(missing)", "income:..500"])
        assert set(drawn["sex"].to_pylist()) == {None}


def test_moments_are_shown_in_the_zone_of_their_attribute(desks: dict[str, Desk]) -> None:
    """Whatever zone a range was asked in."""
    answer = desks["ledger"].asked("quantiles", attribute="at", q=[0.5], where=["at:2026-02-01T00:00:00Z.."])
    value = datetime.fromisoformat(answer["quantiles"][0]["value"])
    assert value.utcoffset() == ZONE.utcoffset(None) == timedelta(hours=1)
    assert value > datetime(2026, 1, 1, tzinfo=UTC)
