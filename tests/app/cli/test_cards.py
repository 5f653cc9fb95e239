"""`rugnik card`, and what a schema file says about a dataset."""

from __future__ import annotations

import tomllib
from hashlib import sha256
from pathlib import Path

from app.access.permissions import Role
from rugnik.wire.about import TITLES
from tests.app.cli.conftest import Run
from tests.support.service.api import ROWS
from tests.support.service.live import Live

SCHEMA = """
name = "{name}"
budget = "2"
[about]
curators = "City"
region = ""
{more}
[[attributes]]
name = "age"
lower = 0
upper = 100
"""


def test_a_schema_file_states_what_the_card_says(run: Run, live: Live, tmp_path: Path) -> None:
    """Filled in, it is registered; the card comes in every form, and its bytes are those on record."""
    rows, schema = tmp_path / "rows.csv", tmp_path / "rows.toml"
    rows.write_bytes(ROWS)
    schema.write_text(SCHEMA.format(name=live.city, more=""))
    run(Role.CURATOR, "release", rows, "--epsilon", "0.5", "--clusters", "2", "--yes")
    assert "published by  City" in run(Role.ANALYST, "datasets", "show", live.city).stdout
    stated = run(Role.ANALYST, "card", live.city).stdout_bytes
    assert b'"curators":"City"' in stated
    with live.client(Role.AUDITOR) as auditor:
        *_, publish = auditor.ledger_entries(dataset=live.city, kind="publish")
    assert publish.detail["card"] == sha256(stated).hexdigest()
    for form, word in (
        ("registry", "Pure DP"),
        ("croissant", "cr:FileObject"),
        ("dcat", "dcat:"),
        ("nist", "| Bias |"),
    ):
        output = tmp_path / form
        assert "Written to" in run(Role.ANALYST, "card", live.city, "--format", form, "-o", output).stderr
        assert word in output.read_text()


def test_a_misspelt_field_ends_the_command_before_anything_is_registered(run: Run, live: Live, tmp_path: Path) -> None:
    """A registration is for ever."""
    schema = tmp_path / "rows.toml"
    schema.write_text(SCHEMA.format(name=live.city, more='colour = "blue"'))
    refused = run(Role.CURATOR, "datasets", "new", "--schema", schema, code=2)
    assert "about has no field colour" in refused.stderr
    run(Role.CURATOR, "datasets", "show", live.city, code=1)


def test_a_draft_has_every_field_to_fill_in(run: Run, tmp_path: Path) -> None:
    """`rugnik init` writes them empty, which counts as not given."""
    rows, draft = tmp_path / "rows.csv", tmp_path / "draft.toml"
    rows.write_bytes(ROWS)
    run(None, "init", rows, "-o", draft)
    assert tomllib.loads(draft.read_text())["about"] == dict.fromkeys(TITLES, "")
