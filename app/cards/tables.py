"""A card in words: what NIST SP 800-226 asks of a differential-privacy claim, as rows of a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import exp
from typing import Any

from app.cards.card import Card
from app.cards.sentences import ended

_OVERFLOW = 700  # e^710 is more than a float can say
_MARKUP = re.compile(r"([\\`*_\[\]<>|~$])")
_LAWS = {"discrete_laplace": "discrete Laplace", "discrete_vector_laplace": "discrete vector Laplace"}
_BIAS = {
    "dense": "Counts are unbiased: noise has mean 0 and nothing is clamped. Values out of range are {out_of_range}. "
    "Answers about ranges that cut a cell take its rows to be spread evenly.",
    "threshold": "Cells whose noisy count is below {threshold} are left out, so small groups are missing and sums of "
    "listed cells are biased; intervals say by how much. Values out of range are {out_of_range}.",
    "layered": "Noisy counts are unbiased; estimates from them are shrunk towards their surroundings. Cells are finer "
    "where noisy counts are high, so small groups are shown more coarsely. Values out of range are {out_of_range}.",
}


def unit_words(card: Card) -> str:
    """Whose presence is protected, as a phrase."""
    unit: Mapping[str, Any] = card.predicate["privacy"]["unit"]
    if unit["kind"] == "record":
        return "one record (a row)"
    return f"one person (column {unit['column']}), with at most {unit['max_rows']} rows"


def range_words(attribute: Mapping[str, Any]) -> str:
    """The kind of an attribute of a card, its public bounds or values, and what else has a cell of its own."""
    if "values" in attribute:
        held = ", ".join(attribute["values"])
    else:
        held = " to ".join(str(attribute[end]).removesuffix(".0") for end in ("lower", "upper"))
    apart = ["all others"] * bool(attribute.get("other")) + ["missing values"] * (attribute.get("missing") == "keep")
    cells = f", and one cell {'each ' * (len(apart) - 1)}for {' and for '.join(apart)}" if apart else ""
    return f"{attribute['kind']}, {held}{cells}"


def size_words(card: Card) -> str:
    """The number of rows that the grid was planned for, and where it comes from."""
    size: Mapping[str, int] = card.predicate["release"]["size"]
    if "declared" in size:
        return f"{size['declared']:,}, a public statement of the curator, outside the guarantee"
    return f"about {size['bought']:,}, a noisy count that is part of the epsilon"


def epsilon_words(card: Card) -> str:
    """What the epsilon bounds, in one sentence."""
    loss = float(card.predicate["privacy"]["epsilon"])
    factor = f"{exp(loss):.3g}" if loss < _OVERFLOW else "a number beyond any use"
    return (
        f"Whatever is released, the odds that somebody guesses whether a unit was in the file change by a factor of at "
        f"most {factor} through this release."
    )


def mechanism_words(card: Card) -> str:
    """How the noise is drawn and how wide it is."""
    privacy = card.predicate["privacy"]
    names = {"counts": "counts of cells", "size": "the number of rows", "offsets": "sums of positions within cells"}
    parts = [
        f"{names[part]}: {_LAWS[privacy['mechanisms'][part]]} noise for epsilon {epsilon}"
        for part, epsilon in privacy["epsilon_parts"].items()
    ]
    text, deviation = "; ".join(parts), privacy["noise_sd"]["count"]
    return f"{text[:1].upper()}{text[1:]}. The noise of one count has a standard deviation of {deviation}."


def bias_words(card: Card) -> str:
    """What noise, thresholds and clipping do to answers."""
    cells, release = card.predicate["cells"], card.predicate["release"]
    kind = "layered" if cells["layered"] else "dense" if cells["threshold"] is None else "threshold"
    handled = {"clip": "moved to the nearest bound", "drop": "left out"}[release["out_of_range"]]
    return _BIAS[kind].format(out_of_range=handled, threshold=cells["threshold"])


def record_words(card: Card) -> str:
    """Whether the ledger vouches for this card."""
    if card.predicate["on_record"]:
        return "This card is on record: the ledger's publish entry has the SHA-256 of its bytes."
    return (
        "This card is NOT on record. The release was published before there were cards, so this one was made on "
        "request, and the ledger does not have its SHA-256."
    )


def nist_rows(card: Card) -> list[tuple[str, str]]:
    """Question and answer, in the order of the layers of the guideline's pyramid, from its top to its base."""
    predicate, about = card.predicate, card.about
    privacy, budget, release = predicate["privacy"], predicate["budget"], predicate["release"]
    return [
        ("Epsilon", f"{privacy['epsilon']} (delta 0). {epsilon_words(card)} Why: {_ended(about['justification'])}"),
        ("Privacy variant", "Pure epsilon-differential privacy, adding or removing one unit (unbounded)."),
        ("Unit of privacy", f"Protected is {unit_words(card)}. {privacy['neighbours']}"),
        (
            "Other releases of the same data",
            f"{predicate['composition']} After the charge for this release, {budget['spent']} of {budget['granted']} "
            f"were spent, and {budget['remaining']} were left.",
        ),
        ("Utility", f"{mechanism_words(card)} Answers come with intervals that cover the noise."),
        ("Bias", bias_words(card)),
        ("Query model", f"Non-interactive: one release, then any number of questions. {predicate['post_processing']}"),
        ("Threat model", f"{predicate['trust']} Not covered: {' '.join(predicate['unprotected'])}"),
        ("Implementation", f"{predicate['implementation']} {record_words(card)}"),
        (
            "Access to the data",
            f"Rows are read once, for the upload, and are not kept. Contact: {_ended(about['contact'])}",
        ),
        ("Data collection", f"{_ended(about['collection'])} Preparation: {_ended(about['preparation'])}"),
        ("Use", f"{_ended(about['intended_use'])} Published on {release['published']} by: {_ended(about['curators'])}"),
    ]


def _ended(text: str) -> str:
    """A text of the curator as a sentence among others."""
    return ended(text[:1].upper() + text[1:])


def nist(card: Card) -> bytes:
    """The same as a Markdown table. What people wrote stays text: no markup of theirs has an effect."""
    lines = [
        f"# {_escaped(card.title)}",
        "",
        "Answers to the questions of NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees.",
        "",
        f"SHA-256 of the synopsis: `{card.synopsis_digest}`",
        f"SHA-256 of the card: `{card.digest}`",
        "",
        "| Question | Answer |",
        "|---|---|",
        *(f"| {question} | {_escaped(answer)} |" for question, answer in nist_rows(card)),
    ]
    return ("\n".join(lines) + "\n").encode()


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)
