"""The documentation agrees with the sources: generated pages, links between pages, names of modules and files."""

from __future__ import annotations

import importlib
import posixpath
import re
import shutil

import pytest

from app.http.schemas import slug
from docs.reference.pages import MARKER, PAGES, expected
from tests.support.documents import ROOT, pages, without_code

TEXTS = pages()
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_ROOMS = "app|bench|clients|core|deploy|docs|examples|migrations|rugnik|tests|tools|torture"
_PATH = re.compile(rf"`((?:{_ROOMS})/[\w./-]*)`")
_ROOM = re.compile(r"^\| (`[^|]+) \|", re.MULTILINE)
_DOTTED = re.compile(r"`((?:app|core)\.(?!py`)[\w.]+)`")


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings; a link in a heading counts as its text."""
    headings = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in _HEADING.findall(without_code(text)))
    return {slug(heading) for heading in headings}


def broken_links(page: str, text: str) -> list[str]:
    """Links to a file or a heading that is not there. Links that leave the project are not looked at."""
    broken = []
    for link in _LINK.findall(without_code(text)):
        target, _, anchor = link.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page
        if re.match(r"[a-z]+:", target):
            continue
        if not (ROOT / path).exists() or (anchor and anchor not in anchors(TEXTS.get(path, ""))):
            broken.append(link)
    return broken


def exists(dotted: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            if not hasattr(value, name):
                return False
            value = getattr(value, name)
        return True
    return False


@pytest.mark.parametrize("name", PAGES)
def test_the_generated_pages_are_up_to_date(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On any machine and in any terminal. If this fails, run `python -m docs.reference`."""
    monkeypatch.setenv("COLUMNS", "37")
    assert TEXTS[f"docs/{name}"] == expected(name)
    assert TEXTS[f"docs/{name}"].count(MARKER) == 1


@pytest.mark.parametrize("page", TEXTS)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    """Files and headings, also from the pages at the root, which the site does not hold."""
    assert broken_links(page, TEXTS[page]) == []


def test_a_link_to_nowhere_would_be_seen() -> None:
    """A file, a heading and a page that are not there."""
    text = "[a](quickstart.md) [b](nowhere.md) [c](quickstart.md#nowhere) [d](#nowhere) [e](https://example.org)"
    assert broken_links("docs/index.md", text) == ["nowhere.md", "quickstart.md#nowhere", "#nowhere"]


@pytest.mark.parametrize("page", TEXTS)
def test_files_and_functions_that_a_page_names_exist(page: str) -> None:
    """A module that moves takes its name on the pages with it."""
    text = without_code(TEXTS[page])
    missing = [path for path in _PATH.findall(text) if path not in MADE and not (ROOT / path).exists()]
    missing += [name for name in _DOTTED.findall(text) if not exists(name)]
    assert missing == []


MADE = {"bench/out/report.md"}  # by `make bench`


def test_a_name_that_is_gone_would_be_seen() -> None:
    """Modules, functions and methods count; what is not there does not."""
    assert exists("core.release.draw")
    assert exists("core.histogram.Counts.add")
    assert not exists("core.release.drew")
    assert not exists("core.nowhere")


def test_the_picture_of_the_architecture_has_every_room() -> None:
    """Each room in the table of docs/architecture.md."""
    rooms = set(re.findall(r"`((?:app|core|rugnik)/?[\w./]*)`", "".join(_ROOM.findall(TEXTS["docs/architecture.md"]))))
    assert {"app/log/", "core/release.py"} <= rooms
    picture = (ROOT / "docs" / "architecture.svg").read_text()
    assert [room for room in sorted(rooms) if room.rstrip("/") not in picture] == []


def test_the_readme_is_short() -> None:
    """A README is read in one go; the rest has its own pages."""
    assert TEXTS["README.md"].count("\n") <= 120


def test_the_site_loads_nothing_from_elsewhere() -> None:
    """No font, script, analytics or address of another server in the configuration of the site."""
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in configuration
    assert "strict: true" in configuration
    assert not re.search(r"https?://|analytics|extra_javascript", configuration)


def test_pages_name_commands_that_exist() -> None:
    """Each `rugnik …` in a block of commands is checked by running it; each target of make by its name."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {target for text in TEXTS.values() for target in re.findall(r"(?:`|^)make ([a-z]+)", text, re.MULTILINE)}
    assert shutil.which("make")
    assert named <= targets
