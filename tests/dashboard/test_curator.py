"""The curator in a browser: register, plan, order, upload, publish; no row is ever shown."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, Route, expect

from app.ingest.formats import MediaType
from app.ingest.limits import Limits
from app.ingest.upload import check_upload
from app.settings.settings import Settings
from core.domain.domain import Domain
from core.domain.kinds import attribute_of
from core.records import OutOfRange
from core.unit import RECORD, Unit
from tests.support.browser.chromium import Surfer
from tests.support.browser.city import City
from tests.support.processes.server import Server

Window = Callable[..., Surfer]
CANARY = "31.41592"


def test_a_curator_goes_from_nothing_to_a_published_release(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window, tmp_path: Path
) -> None:
    """Register, plan with the slider, order, choose a file, published; ledger and budget agree with the pages."""
    server = serve(sqlite_settings)
    curator = window(server.url, server.issue_key("curator"))
    page = curator.page
    expect(page.get_by_role("heading", name="No datasets yet")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="Register a dataset").first.click()

    page.get_by_label("Name", exact=True).fill("city")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("Attribute (attribute 1): Write the name of a column.")
    for row, (name, upper) in enumerate((("age", "100"), ("income", "5000"))):
        for label, value in (("Attribute", name), ("Lower bound", "0"), ("Upper bound", upper)):
            page.get_by_label(label, exact=True).nth(row).fill(value)
    page.get_by_label("Budget (epsilon)").fill("2")
    page.get_by_role("button", name="Register").click()
    page.wait_for_url("**/datasets/city")

    page.get_by_role("link", name="New release").first.click()
    order = page.locator("#order")
    expect(order).to_have_text("Order for epsilon 0.5")
    page.get_by_label("Epsilon", exact=True).fill("3")
    expect(page.get_by_role("alert").filter(has_text="Only 2 is left")).to_be_visible()
    expect(order).to_be_disabled()
    page.get_by_label("Epsilon, by slider").focus()
    page.keyboard.press("Home")
    expect(order).to_have_text("Order for epsilon 0.01")
    page.keyboard.press("End")
    expect(order).to_have_text("Order for epsilon 2")
    expect(page.locator("#plan-facts")).to_contain_text("Budget left after0")
    page.get_by_label("Epsilon", exact=True).fill("0.75")
    expect(order).to_have_text("Order for epsilon 0.75")
    expect(page.locator("#plan-facts")).to_contain_text("Budget left after1.25")
    order.click()

    expect(page.get_by_role("heading", name="Upload the rows")).to_be_visible()
    page.reload()  # an order survives that
    file = tmp_path / "rows.csv.gz"
    file.write_bytes(gzip.compress(b"age,income\n" + f"{CANARY},271.8281\n".encode() * 3000 + b"x,y\n-5,1\n"))
    page.locator("#file").set_input_files(file)
    expect(page.get_by_label("compressed with gzip")).to_be_checked()
    page.get_by_role("button", name="Upload and publish").click()
    expect(page.get_by_role("heading", name="Published")).to_be_visible()
    done = page.locator("#done-facts")
    expect(done).to_contain_text("Rows read3,002")
    expect(done).to_contain_text("Rows dropped1")
    assert CANARY not in page.content()
    assert page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])") == "[{},{}]"

    page.get_by_role("link", name="Back to city").click()
    expect(page.locator(".budget-words").first).to_contain_text("0.75")
    expect(page.get_by_role("link", name="Explore")).to_be_visible()
    entries = httpx.get(
        f"{server.url}/v1/ledger?dataset=city", headers={"Authorization": f"Bearer {server.issue_key('auditor')}"}
    ).json()["entries"]
    assert [entry["kind"] for entry in entries] == ["grant", "charge", "draw", "publish"]
    assert page.locator("table.entries tbody tr").count() == len(entries) + 1  # and one release


def test_a_form_asks_for_the_name_first_and_says_what_a_vast_budget_means(window: Window, city: City) -> None:
    """From the top of the form down; and no factor of twenty digits."""
    page = window(city.url, city.keys["curator"]).go("/register")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("Name: Letters, digits, dot, dash and underscore")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    for much in ("50", "1e3"):
        page.get_by_label("Budget (epsilon)").fill(much)
        expect(page.locator("#budget-meaning")).to_contain_text("more than a million: practically no protection")


def test_figures_of_an_earlier_plan_do_not_stay_beside_a_fault(window: Window, city: City) -> None:
    """They go with the epsilon that they were for, and come back with one that can be read."""
    page = window(city.url, city.keys["curator"]).go("/datasets/pilot/release")
    expect(page.locator("#plan-facts")).to_be_visible()
    for unclear in ("1e3", ""):
        page.get_by_label("Epsilon", exact=True).fill(unclear)
        expect(page.get_by_role("alert").filter(has_text="Epsilon is a number")).to_be_visible()
        expect(page.locator("#plan-facts")).to_be_hidden()
        expect(page.locator("#epsilon-meaning")).to_be_empty()
    page.get_by_label("Epsilon", exact=True).fill("0.2")
    expect(page.locator("#plan-facts")).to_contain_text("Budget left after0.3")
    expect(page.locator("#order")).to_have_text("Order for epsilon 0.2")


def test_a_plan_shows_the_rules_side_by_side_and_recommends_one_for_the_purpose(window: Window, city: City) -> None:
    """A table with a line for each rule and picture, and the reason in words; the purpose is not ordered."""
    page = window(city.url, city.keys["curator"]).go("/datasets/pilot/release")
    page.get_by_label("A rough guess").fill("1000000")
    rules, advice = page.locator("#plan-rules"), page.locator("#plan-advice")
    expect(rules.locator("tbody tr")).to_have_count(6)
    expect(advice).to_contain_text("For clusters: ")
    page.get_by_label("Mainly for").select_option("counts")
    expect(advice).to_contain_text("For counts: adaptive.")
    expect(advice).to_contain_text("with adaptive, against")
    expect(advice).to_contain_text("Recommended: the rule adaptive. Chosen: rugnik.")
    expect(rules).to_be_hidden()  # its tables are folded, so that the order stays in view
    expect(rules).to_contain_text("one sixteenth")
    expect(page.locator("#whole-help")).to_be_visible()
    advice.get_by_role("button", name="Take adaptive").click()
    expect(advice.get_by_role("button")).to_have_count(0)
    expect(page.get_by_label("Rule for the grid")).to_have_value("adaptive")
    expect(page.get_by_label("Rule for the grid")).to_be_visible()
    expect(page.locator("#plan-facts")).to_contain_text("cut further where noisy counts are high")


def test_a_file_that_does_not_fit_is_told_in_words_and_may_be_sent_again(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window, tmp_path: Path
) -> None:
    """Nothing is charged twice: the same order takes the right file afterwards, dropped on the page this time."""
    server = serve(sqlite_settings)
    key = server.issue_key("curator")
    headers = {"Authorization": f"Bearer {key}"}
    attributes = [{"name": "age", "lower": 0, "upper": 100}]
    httpx.post(
        f"{server.url}/v1/datasets", headers=headers, json={"name": "c", "attributes": attributes, "budget": "1"}
    )
    order = httpx.post(f"{server.url}/v1/datasets/c/releases", headers=headers, json={"epsilon": "1", "clusters": 2})
    curator = window(server.url, key)
    curator.expected_statuses |= {422}
    page = curator.go(f"/datasets/c/release?order={order.json()['id']}")
    unfit = [("rows.csv", b"a,b\n1,2\n", "no column for: age"), ("rows.parquet", b"CANARY", "Parquet")]
    for name, body, text in unfit:
        file = tmp_path / name
        file.write_bytes(body)
        page.locator("#file").set_input_files(file)
        if name == "rows.csv":
            expect(page.locator("#file-verdict")).to_contain_text(text)  # said here before it is said by the service
            page.get_by_label("Use this file all the same.").check()
        page.get_by_role("button", name="Upload and publish").click()
        expect(page.locator("#file-name")).to_have_text(f"{name}, {len(body)} bytes")
        expect(page.locator("#upload-problem")).to_contain_text(text)
        assert "CANARY" not in page.content()

    transfer = page.evaluate_handle(
        """() => {
            const transfer = new DataTransfer();
            transfer.items.add(new File(["age\\n1\\n2\\n"], "right.csv"));
            return transfer;
        }"""
    )
    page.locator("#drop").dispatch_event("drop", {"dataTransfer": transfer})
    page.get_by_role("button", name="Upload and publish").click()
    expect(page.get_by_role("heading", name="Published")).to_be_visible()


LETTERS = b"age,income\n" + b"young,rich\n" * 50
GOOD = b"age,income\n" + b"20,300\n" * 99 + b"x,300\n"


def planning(server: Server, window: Window, name: str = "city") -> Surfer:
    """A curator who plans the first release of a dataset."""
    key = server.issue_key("curator")
    attributes = [{"name": "age", "lower": 0, "upper": 100}, {"name": "income", "lower": 0, "upper": 5000}]
    body = {"name": name, "attributes": attributes, "budget": "1"}
    httpx.post(f"{server.url}/v1/datasets", headers={"Authorization": f"Bearer {key}"}, json=body).raise_for_status()
    curator = window(server.url, key)
    expect(curator.go(f"/datasets/{name}/release").locator("#order")).to_be_enabled()
    return curator


def test_plan_file_and_order_stand_within_one_screen_and_an_order_takes_a_label(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window
) -> None:
    """The tables of the plan are folded below the numbers; the help says how many clusters can be asked for."""
    page = planning(serve(sqlite_settings), window).page
    top, place = page.locator("#plan-step").bounding_box(), page.locator("#order").bounding_box()
    assert top is not None
    assert place is not None
    assert place["y"] + place["height"] - top["y"] < 900
    expect(page.locator("#plan")).to_contain_text("at most 256, and no more than there are cells")
    page.get_by_label("Label (optional)").fill("2026-Q3")
    page.locator("#order").click()
    expect(page.get_by_role("heading", name="Upload the rows")).to_be_visible()
    page.goto(page.url.partition("/release")[0])
    expect(page.locator("#releases .label")).to_have_text("2026-Q3")


def test_a_file_is_looked_into_before_it_is_ordered_and_nothing_of_it_is_sent(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window, tmp_path: Path
) -> None:
    """Letters are not ordered unless a person insists; a good file is, and goes on to the upload as it is."""
    curator = planning(serve(sqlite_settings), window)
    page, sent = curator.page, []
    page.on("request", lambda request: sent.append((request.method, request.url)))
    order, verdict = page.locator("#order"), page.locator("#file-verdict")
    file = tmp_path / "rows.csv"

    file.write_bytes(LETTERS)
    page.locator("#file").set_input_files(file)
    expect(verdict).to_contain_text("No row would be kept")
    expect(order).to_be_disabled()
    accept = page.get_by_label("Use this file all the same.")
    accept.check()
    expect(order).to_be_enabled()

    file.write_bytes(b"age,income\n" + b"20,300\n20,9000\n" * 50)
    page.locator("#file").set_input_files([])
    page.locator("#file").set_input_files(file)
    expect(verdict).to_contain_text("100 rows: 0 would be dropped, 50 clipped")
    expect(accept).not_to_be_checked()
    expect(order).to_be_disabled()
    page.get_by_label("income (0 to 5,000)").uncheck()  # the other attribute alone fits
    expect(verdict).to_contain_text("100 rows: 0 would be dropped, 0 clipped")
    expect(order).to_be_enabled()
    page.get_by_label("income (0 to 5,000)").check()
    page.locator("summary").filter(has_text="More choices").click()
    page.get_by_label("Values out of bounds").select_option("drop")
    expect(verdict).to_contain_text("100 rows: 50 would be dropped, 0 clipped")
    assert all(url.endswith("/plans") for _, url in sent), sent
    # Whoever declines here has charged nothing: the ledger has the registration alone.
    entries = page.evaluate(
        "fetch('/v1/ledger?dataset=city').then((reply) => reply.json()).then((body) => body.entries)"
    )
    assert [entry["kind"] for entry in entries] == ["grant"]

    file.write_bytes(GOOD)
    page.locator("#file").set_input_files([])
    page.locator("#file").set_input_files(file)
    expect(verdict).to_contain_text("100 rows: 1 would be dropped, 0 clipped")
    order.click()
    expect(page.get_by_role("heading", name="Upload the rows")).to_be_visible()
    expect(verdict).to_contain_text("100 rows")
    page.get_by_role("button", name="Upload and publish").click()
    expect(page.locator("#done-facts")).to_contain_text("Rows dropped1")


def test_offsets_are_chosen_in_the_wizard(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window
) -> None:
    """The plan recommends them for clusters, shows both, and says what they cost; the order has what was chosen."""
    server = serve(sqlite_settings)
    key = server.issue_key("curator")
    attributes = [{"name": name, "lower": 0, "upper": 10} for name in "abcd"]
    body = {"name": "four", "attributes": attributes, "budget": "2"}
    headers = {"Authorization": f"Bearer {key}"}
    assert httpx.post(f"{server.url}/v1/datasets", json=body, headers=headers).status_code == 201
    curator = window(server.url, key)
    curator.expected_statuses.add(422)
    page = curator.go("/datasets/four/release")
    expect(page.locator("#plan-advice")).to_contain_text("For clusters: rugnik with offsets.")
    page.get_by_label("Mainly for").select_option("counts")
    expect(page.locator("#plan-advice")).not_to_contain_text("offsets")
    expect(page.locator("#plan-facts")).not_to_contain_text("Threshold")
    page.locator("summary").filter(has_text="More choices").click()
    page.get_by_label("Where rows lie within cells (offsets)").select_option("true")
    expect(page.locator("#plan-facts")).to_contain_text("bought with epsilon 0.2375")
    expect(page.locator("#plan-warnings")).to_contain_text("cells have twice the noise")
    page.locator("#plan-more summary").click()
    expect(page.locator("#plan-rules")).to_contain_text("rugnik with offsets")
    assert "offsets=True" in page.locator("#plan-lines [data-python]").text_content()
    page.get_by_label("Rule for the grid").select_option("adaptive")
    expect(page.get_by_role("alert").filter(has_text="adaptive rule")).to_be_visible()
    page.get_by_label("Rule for the grid").select_option("rugnik")
    page.get_by_label("Where rows lie within cells (offsets)").select_option("")
    page.get_by_label("Mainly for").select_option("clusters")
    page.get_by_role("button", name="Take rugnik with offsets").click()
    expect(page.get_by_role("button", name="Take ")).to_have_count(0)
    expect(page.locator("#plan-facts")).to_contain_text("bought with epsilon 0.2375")


def test_a_file_chosen_after_the_order_is_looked_into_before_it_is_sent(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window, tmp_path: Path
) -> None:
    """An order can still be voided, an upload cannot; of Parquet files it is said that nobody looked."""
    page = planning(serve(sqlite_settings), window).page
    page.locator("#order").click()
    upload = page.get_by_role("button", name="Upload and publish")
    expect(upload).to_be_disabled()
    for name, content, words, free in (
        ("rows.csv", LETTERS, "No row would be kept", False),
        ("rows.csv.gz", gzip.compress(LETTERS), "No row would be kept", False),
        ("rows.ndjson", b'{"age": "old"}\n' * 3, "No row would be kept", False),
        ("rows.csv", b"", "must name the columns", False),
        ("rows.parquet", b"PAR1", "cannot look inside", True),
        ("rows.csv.gz", b"not gzip", "could not look inside", True),
        ("rows.csv.gz", gzip.compress(GOOD), "100 rows: 1 would be dropped", True),
    ):
        file = tmp_path / name
        file.write_bytes(content)
        page.locator("#file").set_input_files([])
        page.locator("#file").set_input_files(file)
        expect(page.locator("#file-verdict")).to_contain_text(words)
        expect(upload).to_be_enabled() if free else expect(upload).to_be_disabled()


NUMBERS = [{"name": "x", "lower": 0, "upper": 10}, {"name": "y", "lower": -1, "upper": 1}]
EVERY_KIND = [
    {"name": "x", "lower": 0, "upper": 10, "missing": "keep"},
    {"name": "n", "kind": "integer", "lower": 0, "upper": 5},
    {"name": "sex", "kind": "category", "values": ["f", "NA", "true", "7"], "missing": "keep"},
    {"name": "day", "kind": "date", "lower": "2026-01-01", "upper": "2026-12-31"},
    {"name": "at", "kind": "datetime", "lower": "2026-01-01T00:00:00+01:00", "upper": "2027-01-01T00:00:00+01:00"},
]
# Values that each kind reads, takes for missing, or finds out of its bounds.
VALUES = {
    "x": ["0.5", " 7 ", "99", "", "x", "nan", "1e400"],
    "n": ["3", "5.0", " 0\t", "7", "-1", "2.5", "many", ""],
    "sex": ["f", " f ", "F", "NA", "null", "", "7", "true"],
    "day": ["2026-03-01", " 2026-12-31 ", "2025-12-31", "2026-02-30", "0000-01-01", "1.3.2026", ""],
    "at": [
        *("2026-01-01T00:00:00", "2026-05-01 10:20:30.123456789Z", "2027-01-01T00:00:00+01:00", "2026-13-01T00:00:00Z"),
        *("2026-12-31T23:59:59.999999+01:00", "2025-12-31T23:00:00z", "2026-01-01T00:00Z", "2026-01-01T00:00:00+99:00"),
    ],
    "who": ["a", "b", " a", "", "7", "é" * 128, "é" * 129],
}
JSON_VALUES = [7, 7.0, 2.5, -1, 10**17, True, False, None, [], {}, "7"]
COUNT_ROWS = """async ([module, body, csv, declared, person]) => {
    const { checkText } = await import(module.replace("wizard", "check"));
    const { attributeOf } = await import(module.replace("wizard", "attribute"));
    const terms = { csv, gzip: false, attributes: declared.map(attributeOf), outOfRange: "clip", person };
    return checkText(new File([new Uint8Array(body)], "rows"), terms, new AbortController().signal);
}"""


def browser_counts(
    page: Page, text: str | bytes, media_type: MediaType, declared: list[dict[str, Any]], unit: Unit
) -> None:
    """Compare what the page counts of a file with what the service's readers do."""
    module = page.locator('script[type="module"][src*="wizard"]').get_attribute("src")
    person = {"column": unit.column, "maxRows": unit.max_rows} if unit.is_person else None
    body = text if isinstance(text, bytes) else text.encode()
    counted = page.evaluate(COUNT_ROWS, [module, list(body), media_type is MediaType.CSV, declared, person])
    domain = Domain(tuple(map(attribute_of, declared)))
    expected = check_upload(
        [body],
        media_type=media_type,
        gzip=False,
        domain=domain,
        unit=unit,
        out_of_range=OutOfRange.CLIP,
        limits=Limits(),
    )
    totals = {
        "read": expected.rows_read,
        "dropped": expected.rows_dropped,
        "clipped": expected.rows_clipped,
        "overLimit": expected.rows_over_limit,
        "whole": True,
    }
    assert {name: counted[name] for name in totals} == totals, body


def test_the_browser_drops_the_lines_that_the_service_drops_for_their_bytes(window: Window, city: City) -> None:
    """JSON in Latin-1 is none, a line is as long as its bytes with the carriage return, ids have at most 64 bits."""
    page = window(city.url, city.keys["curator"]).go("/datasets/pilot/release")
    line = '{"x": 1, "y": 0, "name": "M\u00fcller"}\n'
    replaced = line.replace("\u00fc", "\ufffd")  # by the program that wrote the file: good UTF-8
    for body in (line.encode("latin-1"), line.encode(), replaced.encode(), replaced.encode() + line.encode()):
        browser_counts(page, body, MediaType.NDJSON, NUMBERS, RECORD)
    for length, end in ((2**16 - 4, b"\n"), (2**16 - 4, b"\r\n"), (2**16 - 5, b"\r\n")):
        browser_counts(page, b"x,y,note\n1,0," + b"n" * length + end, MediaType.CSV, NUMBERS, RECORD)
    for number in (7, 2**64 - 1, 2**66, -(2**66)):
        body = f'{{"x": 1, "y": 0, "who": {number}}}\n' * 2
        browser_counts(page, body, MediaType.NDJSON, NUMBERS, Unit("who", 1))


def test_the_browser_counts_rows_as_the_service_does(window: Window, city: City) -> None:
    """Hostile lines of every kind in both formats: read, dropped and clipped agree with the readers of uploads."""
    page = window(city.url, city.keys["curator"]).go("/datasets/pilot/release")
    chance = random.Random(1)
    scraps = [*'", {}\r\t.5', '""', "+1", "-.5", "1e3", "1e400", "nan", "1_0", "0x1", "7.25", "\u0661"]
    values = ["0.5", '"0.5"', "x", " 7 ", "9", "true", "null", "1e999"]
    for media_type in (MediaType.CSV, MediaType.NDJSON):
        for _ in range(40):
            lines = ["".join(chance.choices(scraps, k=chance.randint(0, 5))) for _ in range(30)]
            lines += [f"{chance.choice([1, -1, 99])},{chance.choice(values)}" for _ in range(30)]
            lines += [f'{{"x": 1, "y": {chance.choice(values)}}}' for _ in range(30)]
            chance.shuffle(lines)
            body = "\n".join((["x,y"] if media_type is MediaType.CSV else []) + lines)
            browser_counts(page, body, media_type, NUMBERS, RECORD)


def test_the_browser_reads_every_kind_and_the_ids_of_persons_as_the_service_does(window: Window, city: City) -> None:
    """Each value by itself, in one column at a time and in all of them; and rows beyond the limit of a person."""
    page = window(city.url, city.keys["curator"]).go("/datasets/pilot/release")
    chance = random.Random(2)
    unit = Unit("who", 2)
    for attribute in EVERY_KIND:
        name = attribute["name"]
        for value in VALUES[name]:
            body = f'other,{name}\n1,"{value}"\n2,{value}\n'
            browser_counts(page, body, MediaType.CSV, [attribute], RECORD)
        for each in [*VALUES[name], *JSON_VALUES]:
            line = json.dumps({name: each}, ensure_ascii=False)
            browser_counts(page, f"{line}\n{{}}\n[{line}]\n", MediaType.NDJSON, [attribute], RECORD)
    for _ in range(20):
        rows = [{name: chance.choice(values[:3] * 4 + values) for name, values in VALUES.items()} for _ in range(60)]
        texts = "\n".join(",".join(row.values()) for row in rows)
        browser_counts(page, f"{','.join(VALUES)}\n{texts}\n", MediaType.CSV, EVERY_KIND, unit)
        for row in rows:
            row["who"] = chance.choice([row["who"], 7, 7.0, 2.5, None])
        lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        browser_counts(page, lines, MediaType.NDJSON, EVERY_KIND, unit)


AWKWARD = [
    "x,n,sex,day,at,other",
    "0.5,3,f,2026-03-01,2026-05-01T10:20:30Z,a",
    '" 7 ",5.0, f ,2026-12-31,2026-05-01 10:20:30.5Z,"a,b"',
    "99,3,f,2025-12-31,2027-01-01T00:00:00+01:00,a",
    "x,3,NA,2026-03-01,2026-05-01T10:20:30Z,a",
    "0.5,2.5,f,2026-03-01,2026-05-01T10:20:30Z,a",
    "0.5,3,F,2026-03-01,2026-05-01T10:20:30Z,a",
    "0.5,3,f,1.3.2026,2026-05-01T10:20:30Z,a",
    "0.5,3,f,2026-03-01,2026-05-01T10:20:30Z",
    '0.5,3,f,2026-03-01,2026-05-01T10:20:30Z,a"b"',
    '0.5,3,"f,2026-03-01,2026-05-01T10:20:30Z,a',
    "",
    ",3,,2026-03-01,2026-05-01T10:20:30Z,a\r",
]


def test_the_preview_of_an_awkward_file_is_what_its_upload_says(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window, tmp_path: Path
) -> None:
    """Read, dropped and clipped, of every kind at once; why, by column and line; consent before the order."""
    server = serve(sqlite_settings)
    key = server.issue_key("curator")
    body = {"name": "odd", "attributes": EVERY_KIND, "budget": "1"}
    httpx.post(f"{server.url}/v1/datasets", headers={"Authorization": f"Bearer {key}"}, json=body).raise_for_status()
    page = window(server.url, key).go("/datasets/odd/release")
    expect(page.locator("#order")).to_be_enabled()
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(AWKWARD), newline="")
    page.locator("#file").set_input_files(file)
    verdict = page.locator("#file-verdict")
    expect(verdict).to_contain_text("11 rows: 5 would be dropped, 1 clipped")
    assert page.locator("#file-preview tbody tr").all_inner_texts() == [
        "x\t1 empty: kept as missing; 1 not readable: kept as missing; 1 out of bounds: clipped\t4",
        "n\t1 not readable: rows dropped\t6",
        "sex\t1 empty: kept as missing; 1 not on the list: rows dropped\t7",
        "day\t1 not readable: rows dropped; 1 out of bounds: clipped\t4",
        "at\t1 out of bounds: clipped\t4",
    ]
    expect(verdict).to_contain_text("Days are written year first")
    expect(page.locator("#order")).to_be_disabled()
    page.get_by_label("Use this file all the same. 55 % of the rows would be lost or changed.").check()
    page.locator("#order").click()
    page.get_by_role("button", name="Upload and publish").click()  # the same file under the same terms: asked once
    done = page.locator("#done-facts")
    expect(done).to_contain_text("Rows read11")
    expect(done).to_contain_text("Rows dropped5")
    expect(done).to_contain_text("Values clipped in rows1")


def test_the_preview_counts_values_that_end_up_among_others(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window, tmp_path: Path
) -> None:
    """They drop no row, but most of them are slips of spelling."""
    server = serve(sqlite_settings)
    key = server.issue_key("curator")
    town = {"name": "town", "kind": "category", "values": ["bonn"], "other": True}
    body = {"name": "towns", "attributes": [town], "budget": "1"}
    httpx.post(f"{server.url}/v1/datasets", headers={"Authorization": f"Bearer {key}"}, json=body).raise_for_status()
    page = window(server.url, key).go("/datasets/towns/release")
    file = tmp_path / "rows.csv"
    file.write_text("town\nbonn\nBonn\nbonn \n", encoding="utf-8")
    page.locator("#file").set_input_files(file)
    expect(page.locator("#file-verdict")).to_contain_text("3 rows: 0 would be dropped")
    assert page.locator("#file-preview tbody tr").all_inner_texts() == [
        "town\t1 not on the list: kept as (other)\t3",
    ]


UNFIT = [
    ("semicolons.csv", b"Age;Income\n20;300\n", "separated by semicolons"),
    ("foreign.csv", b"Alter;Einkommen\n20;300\n", "separated by semicolons"),
    ("tabs.csv", b"age\tincome\n20\t300\n", "separated by tabs"),
    ("case.csv", b"AGE,In come\n20,300\n", "\u201cIn come\u201d is probably income"),
    ("headless.csv", b"20,300\n21,400\n", "Its first line holds no names"),
    ("wide.csv", "age,income\n20,300\n".encode("utf-16"), "UTF-16"),
    ("wide.csv", "age,income\n20,300\n".encode("utf-16-le"), "UTF-16"),
    ("book.xlsx", b"PK\x03\x04 xl/workbook.xml", "CSV UTF-8"),
    ("packed.csv", gzip.compress(GOOD), "tick \u201ccompressed with gzip\u201d"),
]


def test_a_file_that_the_service_would_refuse_is_not_ordered_for(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window, tmp_path: Path
) -> None:
    """The reason and what to do about it; no consent helps, and no budget is offered that is not there."""
    page = planning(serve(sqlite_settings), window).page
    for name, content, words in UNFIT:
        file = tmp_path / name
        file.write_bytes(content)
        page.locator("#file").set_input_files([])
        page.locator("#file").set_input_files(file)
        expect(page.locator("#file-verdict")).to_contain_text(words)
        expect(page.locator("#order")).to_be_disabled()
        expect(page.get_by_label("Use this file all the same.")).to_be_hidden()
    latin = tmp_path / "latin.csv"
    latin.write_bytes("age,income,town\n20,300,Z\xfcrich\n".encode("latin-1"))
    page.locator("#file").set_input_files(latin)
    expect(page.locator("#file-verdict")).to_contain_text("probably in Latin-1")
    expect(page.locator("#order")).to_be_enabled()

    # Another order took the budget while this page was open: the plan says so, and there is no order.
    def spent(route: Route) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, json=reply.json() | {"budget": {"remaining": "0.1", "after": None}})

    page.route("**/plans", spent)
    page.get_by_label("Epsilon", exact=True).fill("0.4")
    expect(page.locator("#plan-problem")).to_contain_text("Only 0.1 is left of the budget.")
    expect(page.locator("#order")).to_be_disabled()
    expect(page.locator("#remaining")).to_have_text("0.1")
    expect(page.get_by_label("Epsilon", exact=True)).to_have_accessible_description(re.compile("Only 0.1 is left"))
