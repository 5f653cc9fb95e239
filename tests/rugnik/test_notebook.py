"""The notebook in `examples/`, run as Jupyter runs it: cell after cell, the last expression of each shown."""

from __future__ import annotations

import ast
import json
from typing import Any

import matplotlib as mpl
import pytest

from app.access.permissions import Role
from tests.support.documents import ROOT
from tests.support.service.live import Live

NOTEBOOK = json.loads((ROOT / "examples" / "bike_trips.ipynb").read_text(encoding="utf-8"))
CODE = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - our own notebook
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307


def test_a_newcomer_runs_the_notebook(
    live: Live, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Against a service with the demo's trips: every answer is drawn, with a table or a chart."""
    described = json.loads((ROOT / "examples" / "bike-trips.json").read_text(encoding="utf-8"))
    with live.client(Role.CURATOR) as curator:
        bounds = {each["name"]: (each["lower"], each["upper"]) for each in described["attributes"]}
        curator.register_dataset("bike-trips", bounds, budget="3")
        order = curator.order("bike-trips", epsilon="1", clusters=5)
        curator.upload(order.id, ROOT / "examples" / "bike-trips.csv")
    monkeypatch.setenv("RUGNIK_URL", live.url)
    monkeypatch.setenv("RUGNIK_KEY", live.keys[Role.ANALYST])
    mpl.use("agg")
    names: dict[str, Any] = {}
    try:
        shown = [run(source, names) for source in CODE]
    finally:
        __import__("matplotlib.pyplot").pyplot.close("all")
    drawn = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert len(drawn) >= 11
    assert sum("<svg" in html for html in drawn) >= 7
    assert all("<table" in html or "<svg" in html for html in drawn)
    assert "epsilon spent by these questions: 0" in capsys.readouterr().out


def test_the_notebook_holds_no_output() -> None:
    """Nothing of the machine that it was run on."""
    code = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert all((cell["outputs"], cell["execution_count"]) == ([], None) for cell in code)
    assert (NOTEBOOK["nbformat"], len({cell["id"] for cell in NOTEBOOK["cells"]})) == (4, len(NOTEBOOK["cells"]))
