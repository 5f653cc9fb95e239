"""make_card(...) -> bytes: the card of a release, an in-toto Statement v1 about its synopsis, as canonical JSON.

It follows from the dataset's registration, the charge, the budget right after the charge, the synopsis and the day of
publication. All of these are public or on record, and none of them is an exact count. So a card says nothing about the
rows that the synopsis does not say: it is post-processing. No time in it is finer than the day.

Its texts change only with VERSION. A card on record is kept as it was written (table `cards`), so a new version leaves
the older ones alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from app.cards import sentences
from app.cards.about import every_text
from core.adaptive.cells import AdaptiveCells
from core.adaptive.shares import LayerLaws
from core.budget import Budget
from core.canonical import canonical_json
from core.domain.attribute import Attribute
from core.domain.axis import OFFSET_STEPS
from core.ledger.entry import LedgerEntry
from core.mechanisms.discrete_laplace import MECHANISM
from core.mechanisms.vector_laplace import MECHANISM as OFFSET_MECHANISM
from core.synopsis import Synopsis

STATEMENT = "https://in-toto.io/Statement/v1"
VERSION = "urn:rugnik:release-card:1"
SUBJECT = "synopsis.bin"  # the canonical bytes of the synopsis, by the name that they have in a file


def make_card(
    *,
    registration: Mapping[str, Any],
    charge: LedgerEntry,
    budget: Budget,
    synopsis: Synopsis,
    digest: str,
    published: str,
    on_record: bool = True,
) -> bytes:
    """The bytes of a card. `digest` is that of the synopsis, `published` the day of its publication (YYYY-MM-DD).

    `budget` is that of the dataset right after the charge.

    `on_record` is False for a card that is made on request, because its release was published before there were cards.
    """
    predicate = {
        "about": every_text(registration),
        "budget": {
            "granted": str(budget.granted),
            "remaining": str(budget.remaining),
            "spent": str(budget.spent),
        },
        "cells": _cells(synopsis),
        "composition": sentences.COMPOSITION,
        "dataset": {
            "attributes": [_attribute(attribute) for attribute in synopsis.domain.attributes],
            "description": str(registration.get("description", "")),
            "name": synopsis.dataset,
        },
        "implementation": sentences.IMPLEMENTATION,
        "on_record": on_record,
        "post_processing": sentences.POST_PROCESSING,
        "privacy": _privacy(synopsis),
        "release": _release(synopsis, charge, published),
        "trust": sentences.TRUST,
        "unprotected": sentences.unprotected(synopsis),
    }
    return canonical_json(
        {
            "_type": STATEMENT,
            "predicate": predicate,
            "predicateType": VERSION,
            "subject": [{"digest": {"sha256": digest}, "name": SUBJECT}],
        }
    )


def _attribute(attribute: Attribute) -> dict[str, Any]:
    """Its public declaration, floats as texts: any language reads the same number."""
    declared = {"kind": attribute.kind, **attribute.declaration()}
    return {name: repr(value) if isinstance(value, float) else value for name, value in declared.items()}


def _privacy(synopsis: Synopsis) -> dict[str, Any]:
    parts = {"counts": str(synopsis.histogram_epsilon)}
    mechanisms = {"counts": MECHANISM}
    if synopsis.size_epsilon:
        parts["size"], mechanisms["size"] = str(synopsis.size_epsilon), MECHANISM
    if synopsis.offset_epsilon:
        parts["offsets"], mechanisms["offsets"] = str(synopsis.offset_epsilon), OFFSET_MECHANISM
    return {
        "delta": "0",
        "epsilon": str(synopsis.epsilon),
        "epsilon_parts": parts,
        "mechanisms": mechanisms,
        "model": "central",
        "neighbours": sentences.neighbours(synopsis.unit),
        "noise_sd": _noise_sd(synopsis),
        "unit": synopsis.unit.to_json(),
        "variant": "pure",
    }


def _noise_sd(synopsis: Synopsis) -> dict[str, str]:
    """Standard deviations of the noise, as texts of six digits: of a count in rows; of a sum of offsets likewise."""
    law = synopsis.law
    if isinstance(synopsis.cells, AdaptiveCells):
        law = LayerLaws.of(synopsis.histogram_epsilon, synopsis.unit).leaf_cut
    deviations = {"count": f"{law.standard_deviation:.6g}"}
    if synopsis.size_law is not None:
        deviations["size"] = f"{synopsis.size_law.standard_deviation:.6g}"
    if synopsis.cells.offsets is not None:
        deviations["offsets"] = f"{synopsis.cells.offsets.law.standard_deviation / OFFSET_STEPS:.6g}"
    return deviations


def _cells(synopsis: Synopsis) -> dict[str, Any]:
    """The grid and what is listed of it. All of it is in the synopsis, so it is noisy wherever it depends on rows."""
    grid, cells = synopsis.grid, synopsis.cells
    return {
        "grid": list(grid.shape),
        "in_all": grid.cell_count,
        "layered": isinstance(cells, AdaptiveCells),
        "listed": len(cells.counts),
        "threshold": cells.threshold,
    }


def _release(synopsis: Synopsis, charge: LedgerEntry, published: str) -> dict[str, Any]:
    return {
        "charged": charge.at[:10],  # entries of version 0.1 have the second
        "clusters": synopsis.clusters,
        "id": synopsis.release,
        "ledger_entry": charge.seq,
        "out_of_range": synopsis.out_of_range.value,
        "published": published[:10],
        "rule": synopsis.rule.value,
        "size": {"declared": synopsis.size} if synopsis.size_declared else {"bought": synopsis.size},
    }


@dataclass(frozen=True, slots=True)
class Card:
    """A card as it is read: its bytes, and the value that they spell."""

    body: bytes
    statement: Mapping[str, Any]

    @classmethod
    def of(cls, body: bytes) -> Card:
        """From bytes; ValueError where they are no statement of a version that is known here."""
        statement = json.loads(body)
        if not isinstance(statement, dict) or statement.get("predicateType") != VERSION:
            raise ValueError("These bytes are no card of a version that is known here.")
        return cls(body, statement)

    @property
    def digest(self) -> str:
        """SHA-256 of its bytes, as the publish entry has it."""
        return sha256(self.body).hexdigest()

    @property
    def synopsis_digest(self) -> str:
        """SHA-256 of the canonical bytes of the synopsis that it is about."""
        return str(self.statement["subject"][0]["digest"]["sha256"])

    @property
    def predicate(self) -> Mapping[str, Any]:
        """What it says."""
        predicate: Mapping[str, Any] = self.statement["predicate"]
        return predicate

    @property
    def about(self) -> Mapping[str, str]:
        """The texts of the curator, by field."""
        texts: Mapping[str, str] = self.predicate["about"]
        return texts

    @property
    def title(self) -> str:
        """A name for catalogues: dataset and release."""
        return f"{self.predicate['dataset']['name']}, release {self.predicate['release']['id']}"

    @property
    def description(self) -> str:
        """One paragraph for catalogues."""
        own = self.predicate["dataset"]["description"]
        return f"{sentences.ended(own)} {sentences.SUMMARY}".strip()
