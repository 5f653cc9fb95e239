"""A card in other people's formats: what their specifications require, from real releases of every shape."""

from __future__ import annotations

import csv
import io
import json
import re
from hashlib import sha256
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # it has no types of its own

from app.cards.card import Card
from app.cards.croissant import croissant
from app.cards.files import synopsis_file
from app.cards.formats import CardFormat
from app.cards.tables import nist_rows, range_words
from app.releases.cards import get_card
from tests.app.releases.test_cards import ABOUT
from tests.app.test_pages import HOSTILE
from tests.support.databases.books import CURATOR
from tests.support.service.api import ATTRIBUTES, ROWS, Api

MIXED = [
    {"name": "age", "lower": 0, "upper": 100},
    {"name": "sex", "kind": "category", "values": ["f", "m"], "other": True},
    {"name": "day", "kind": "date", "lower": "2026-01-01", "upper": "2026-12-31", "missing": "keep"},
]
MIXED_ROWS = b"who,age,sex,day\n" + b"".join(
    b"p%d,%d,%s,2026-%02d-03\n" % (i // 2, i % 100, (b"f", b"m", b"q")[i % 3], 1 + i % 12) for i in range(300)
)
SHAPES: dict[str, tuple[dict[str, Any], bytes, dict[str, Any]]] = {
    "declared": ({"attributes": ATTRIBUTES}, ROWS, {}),
    "bought": ({"attributes": ATTRIBUTES}, ROWS, {"size": {"estimate": "0.1"}}),
    "adaptive": ({"attributes": ATTRIBUTES}, ROWS, {"size": {"declared": 5000}, "rule": "adaptive"}),
    "persons": (
        {"attributes": MIXED, "unit": {"kind": "person", "column": "who", "max_rows": 2}},
        MIXED_ROWS,
        {"size": {"declared": 300}, "out_of_range": "drop"},
    ),
    "thresholded": (
        {"attributes": [{"name": f"x{i}", "lower": 0, "upper": 10} for i in range(7)]},
        b"x0,x1,x2,x3,x4,x5,x6\n" + b"1,2,3,4,5,6,7\n" * 500,
        {"epsilon": "2", "size": {"declared": 500}},
    ),
}


def published(api: Api, shape: str, **about: str) -> str:
    """A release of a dataset of some shape."""
    body, rows, terms = SHAPES[shape]
    stated = {"name": "city", "description": "People", "budget": "3", **body} | ({"about": about} if about else {})
    assert api.curator("POST", "/v1/datasets", json=stated).status_code == 201
    return api.published(rows, **terms)


def form(api: Api, release: str, name: str) -> Any:
    """The text of one form, with the headers that it must have."""
    reply = api.analyst("GET", f"/v1/releases/{release}/card?format={name}")
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"].startswith(CardFormat(name).media_type)
    return reply.text


def test_a_description_is_a_sentence_of_its_own() -> None:
    """With a full stop where the curator wrote none; what is on record has the curator's own text."""
    for own, begins in {
        "People": "People. A hist",
        "Who?": "Who? A hist",
        "All. ": "All. A hist",
        "": "A hist",
    }.items():
        card = Card(b"", {"predicate": {"dataset": {"description": own}}})
        assert card.description.startswith(begins)


def test_cells_of_missing_values_are_listed_with_an_attribute() -> None:
    """Whoever reads a card learns which cells there are."""
    genre = {"kind": "category", "values": ["a", "b"]}
    assert range_words(genre) == "category, a, b"
    assert range_words(genre | {"missing": "keep"}) == "category, a, b, and one cell for missing values"
    both = range_words(genre | {"missing": "keep", "other": True})
    assert both == "category, a, b, and one cell each for all others and for missing values"
    assert range_words(genre | {"other": True}) == "category, a, b, and one cell for all others"
    age = {"kind": "number", "lower": "0.0", "upper": "99.5", "missing": "keep"}
    assert range_words(age) == "number, 0 to 99.5, and one cell for missing values"


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest) -> str:
    """Each shape of a release."""
    return str(request.param)


def test_the_registry_entry_has_what_the_registry_requires(sqlite_api: Api, shape: str) -> None:
    """The sections of its newest records, every tier, and values of its lists where they are ours to give."""
    release = published(sqlite_api, shape, **ABOUT)
    entry = yaml.safe_load(form(sqlite_api, release, "registry"))
    assert (entry["status"], entry["tier"], entry["url_slug"]) == ("Draft", 3, f"city-{release}")
    deployment = entry["deployment"]
    assert list(deployment) == [
        "basic", "dp_variant", "privacy_loss", "deployment_model", "accounting", "implementation", "administrative",
    ]  # fmt: skip
    basic = deployment["basic"]
    assert basic["data_curators"] == [{"data_curator_name": "City of Bilen"}]
    assert (basic["publication_date"], basic["data_product_sector"]) == ("2026-01-02", "Government")
    assert deployment["dp_variant"]["variant_name"] == "Pure DP"
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.0 if shape == "thresholded" else 0.5}
    unit = {"persons": "Person-level"}.get(shape, "Record-level")
    assert deployment["privacy_loss"]["privacy_unit"] == unit
    assert deployment["deployment_model"]["model_name"] == "Central"
    declared = "number of rows" in deployment["dp_variant"]["unprotected_quantities"]
    assert declared == (shape != "bought")
    for section in deployment.values():
        assert all(value for value in section.values())


REQUIRED = (
    "@context", "@type", "conformsTo", "description", "license", "name", "url", "creator", "datePublished",
    "distribution",
)  # fmt: skip


def test_croissant_has_the_required_properties_and_true_digests(sqlite_api: Api, shape: str) -> None:
    """Those of the specification 1.1; the file is there, has the SHA-256, and its columns are those that are listed."""
    release = published(sqlite_api, shape, **ABOUT)
    reply = sqlite_api.analyst("GET", f"/v1/releases/{release}/card?format=croissant")
    assert reply.headers["content-type"] == 'application/ld+json; profile="http://mlcommons.org/croissant/1.1"'
    described = reply.json()
    assert [name for name in REQUIRED if not described.get(name)] == []
    assert (described["@type"], described["conformsTo"]) == ("sc:Dataset", "http://mlcommons.org/croissant/1.1")
    context = described["@context"]  # mlcroissant 1.1.1 reads no other address of schema.org
    assert context["@vocab"] == context["sc"] == "https://schema.org/"
    assert described["license"] == ABOUT["licence"]
    (file,) = described["distribution"]
    assert file["@type"] == "cr:FileObject"
    downloaded = sqlite_api.analyst("GET", file["contentUrl"])
    assert downloaded.headers["content-type"].startswith(file["encodingFormat"])
    assert sha256(downloaded.content).hexdigest() == file["sha256"]
    assert file["name"] in downloaded.headers["content-disposition"]
    (records,) = described["recordSet"]
    fields = records["field"]
    columns = next(csv.reader(io.StringIO(downloaded.text)))
    assert [field["source"]["extract"]["column"] for field in fields] == columns
    assert len({field["@id"] for field in fields}) == len(fields)
    assert all(field["source"]["fileObject"] == {"@id": file["@id"]} for field in fields)
    integers = [field["name"] for field in fields if field["dataType"] == "sc:Integer"]
    assert "count" in integers


def test_croissant_beside_a_synopsis_names_it_by_the_digest_of_the_ledger(sqlite_api: Api) -> None:
    """For an archive: the canonical bytes are the file, and nothing of the service is needed."""
    release = published(sqlite_api, "declared")
    card = get_card(sqlite_api.service, CURATOR, release)
    described = json.loads(croissant(card, [synopsis_file(card)], url="README.txt"))
    (file,) = described["distribution"]
    assert file["sha256"] in described["citeAs"]
    stated = sqlite_api.curator("GET", f"/v1/releases/{release}").json()["synopsis"]["digest"]
    assert (file["contentUrl"], file["sha256"]) == ("synopsis.bin", stated)
    assert "/v1/" not in json.dumps(described)


def test_dcat_has_a_dataset_with_a_checked_distribution(sqlite_api: Api) -> None:
    """What is stated is there, what is not is left out; a licence that is no address is a document."""
    release = published(sqlite_api, "declared", curators="City", licence="Ask us")
    described = json.loads(form(sqlite_api, release, "dcat"))
    assert described["@type"] == "dcat:Dataset"
    assert described["dct:publisher"]["foaf:name"] == "City"
    assert described["dct:license"] == {"@type": "dct:LicenseDocument", "rdfs:label": "Ask us"}
    assert "dct:spatial" not in described
    assert "dcat:contactPoint" not in described
    (distribution,) = described["dcat:distribution"]
    file = sqlite_api.analyst("GET", distribution["dcat:downloadURL"]["@id"]).content
    assert distribution["spdx:checksum"]["spdx:checksumValue"]["@value"] == sha256(file).hexdigest()


def test_the_table_answers_every_question_of_the_guideline(sqlite_api: Api, shape: str) -> None:
    """A row for each; none is empty, and the Markdown has as many rows."""
    release = published(sqlite_api, shape, **ABOUT)
    rows = nist_rows(get_card(sqlite_api.service, CURATOR, release))
    asked = [question for question, answer in rows if answer]
    assert asked[:6] == [
        "Epsilon", "Privacy variant", "Unit of privacy", "Other releases of the same data", "Utility", "Bias",
    ]  # fmt: skip
    assert asked[6:] == [
        "Query model", "Threat model", "Implementation", "Access to the data", "Data collection", "Use",
    ]  # fmt: skip
    assert len(re.findall(r"^\|", form(sqlite_api, release, "nist"), re.MULTILINE)) == len(rows) + 2


def test_what_people_wrote_is_text_in_every_form_and_on_the_page(sqlite_api: Api) -> None:
    """No tag and no table cell of theirs: JSON and YAML give the text back, Markdown and HTML show it."""
    texts = dict.fromkeys(ABOUT, HOSTILE + " | a: [b] *c* #")
    body = {"name": "city", "description": HOSTILE, "attributes": ATTRIBUTES, "budget": "3", "about": texts}
    assert sqlite_api.curator("POST", "/v1/datasets", json=body).status_code == 201
    release = sqlite_api.published()
    stated = texts["curators"]
    assert json.loads(form(sqlite_api, release, "json"))["predicate"]["about"] == texts
    entry = yaml.safe_load(form(sqlite_api, release, "registry"))
    assert entry["deployment"]["basic"]["intended_use"] == stated
    assert json.loads(form(sqlite_api, release, "croissant"))["creator"]["name"] == stated
    table = form(sqlite_api, release, "nist")
    assert re.search(r"(?<!\\)<", table) is None
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}
    page = sqlite_api.analyst("GET", f"/releases/{release}/card").text
    assert "<script>alert" not in page
    assert "<img" not in page
    assert page.count("&lt;script&gt;alert(1)") > 5


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("*/*", "application/json"),
        ("application/yaml", "application/yaml"),
        ("application/ld+json", "application/ld+json"),
        ("text/markdown;q=0.9, application/json;q=0.1", "text/markdown"),
    ],
)
def test_the_form_may_be_named_by_accept(sqlite_api: Api, accept: str, media_type: str) -> None:
    """As for other downloads; what is not offered is 406."""
    release = published(sqlite_api, "declared")
    path = f"/v1/releases/{release}/card"
    reply = sqlite_api.analyst("GET", path, headers={"Accept": accept})
    assert reply.headers["content-type"].startswith(media_type)
    assert sqlite_api.analyst("GET", path, headers={"Accept": "image/png"}).status_code == 406
    assert sqlite_api.analyst("GET", f"{path}?format=pdf").status_code == 406
    assert sqlite_api.analyst("GET", f"{path}?fromat=nist").status_code == 422


def test_the_page_is_for_whoever_sees_the_release(sqlite_api: Api, shape: str) -> None:
    """Epsilon, unit, what is not protected, both digests and lines to sign; files for those who may ask."""
    release = published(sqlite_api, shape, **ABOUT)
    card = get_card(sqlite_api.service, CURATOR, release)
    for call, files in ((sqlite_api.admin, False), (sqlite_api.auditor, True), (sqlite_api.analyst, True)):
        page = call("GET", f"/releases/{release}/card").text
        for words in (card.digest, card.synopsis_digest, "What is not protected", "Signature", "City of Bilen"):
            assert words in page, words
        assert f"epsilon {card.predicate['privacy']['epsilon']}" in page
        assert ("card?format=registry" in page) == files
        assert f'href="/releases/{release}/card"' in call("GET", f"/releases/{release}").text
