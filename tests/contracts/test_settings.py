"""Settings are documented: every variable has a description, and docs/settings.md has its name and its default."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from app.settings.settings import Settings

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
FIELDS = Settings.model_fields
_HEADER = re.compile(r"\|\s*Variable\s*\|\s*Default\s*\|\s*Meaning\s*\|")
_NOTHING = {"", "-", "\u2013", "\u2014", "none", "not set", "unset"}


def rows(text: str) -> dict[str, tuple[str, str]]:
    """The page's table of settings: default and meaning of each variable, without marks of code."""
    lines = iter(text.splitlines())
    settings: dict[str, tuple[str, str]] = {}
    for line in lines:
        if _HEADER.fullmatch(line.strip()):
            next(lines)
            for row in lines:
                if not row.startswith("|"):
                    break
                variable, default, *meaning = (
                    cell.replace("`", "").strip() for cell in row.strip().strip("|").split("|")
                )
                assert variable not in settings, f"{variable} is listed twice"
                settings[variable] = (default, "|".join(meaning))
    return settings


def spellings(default: Any) -> set[str]:
    """How a default may be written down."""
    if default is None:
        return _NOTHING
    written = {str(default)}
    if isinstance(default, int | float):
        written |= {f"{default:,}", f"{default:g}"}
        for power, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
            if default % power == 0:
                written |= {f"{default // power} {unit}", f"{default} ({default // power} {unit})"}
    return {spelling.lower() for spelling in written}


@pytest.mark.parametrize("name", FIELDS)
def test_every_setting_says_what_it_is_for(name: str) -> None:
    """A sentence with an end, in the code."""
    assert (FIELDS[name].description or "").endswith(".")


@pytest.mark.parametrize("name", FIELDS)
def test_every_setting_is_on_the_page(name: str) -> None:
    """Its variable, its default as the code has it, and what it means."""
    listed = rows(PAGE.read_text(encoding="utf-8"))
    variable = f"RUGNIK_{name.upper()}"
    assert variable in listed
    default, meaning = listed[variable]
    assert default.lower() in spellings(FIELDS[name].default)
    assert meaning


def test_the_page_lists_no_setting_that_is_gone() -> None:
    """A variable that nothing reads misleads."""
    assert set(rows(PAGE.read_text(encoding="utf-8"))) <= {f"RUGNIK_{name.upper()}" for name in FIELDS}


def test_every_setting_is_read_from_its_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The name on the page is the name that counts; an empty variable is one that is not set."""
    monkeypatch.setenv("RUGNIK_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("RUGNIK_MAX_BUDGET", "7.50")
    monkeypatch.setenv("RUGNIK_MAX_UPLOADS", "3")
    monkeypatch.setenv("RUGNIK_WITNESS", "")
    settings = Settings()
    assert (settings.data_dir, settings.max_budget, settings.max_uploads, settings.witness) == (
        tmp_path,
        "7.5",
        3,
        None,
    )


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("RUGNIK_MAX_BUDGET", "1e3"),
        ("RUGNIK_MAX_BUDGET", "0.1234567891"),
        ("RUGNIK_MAX_CELLS", "0"),
        ("RUGNIK_MAX_CELLS", "many"),
        ("RUGNIK_MAX_UPLOADS", "0"),
        ("RUGNIK_UPLOAD_WAIT_SECONDS", "-1"),
        ("RUGNIK_UPLOAD_WAIT_SECONDS", "nan"),
        ("RUGNIK_UPLOAD_MEMORY_BYTES", "1000"),
        ("RUGNIK_ADMIN_KEY", "short"),
        ("RUGNIK_METRICS_KEY", "short"),
        ("RUGNIK_LOG_LEVEL", "loud"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    """At the start, with the variable in the message, not later and by surprise."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match=f"(?s){variable.removeprefix('RUGNIK_').lower()}"):
        Settings()
