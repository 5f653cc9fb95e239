"""The reasons of methods are read by people: no name of a field, no name from the mathematics."""

from __future__ import annotations

import re
from pathlib import Path

import core.clustering.choice
import core.clustering.methods

JARGON = re.compile(r'"[^"\n]*(?:noise_probability|raw objective|contradict)[^"\n]*"')


def test_reasons_of_methods_are_in_plain_words() -> None:
    """In no text of the modules that word them; docstrings may have the terms of the papers."""
    for module in (core.clustering.choice, core.clustering.methods):
        source = Path(module.__file__).read_text(encoding="utf-8")
        code = re.sub(r'"""[\s\S]*?"""', "", source)
        assert JARGON.findall(code) == []
