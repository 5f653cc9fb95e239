"""The kinds of ledger entries as described data, and the states of a release that follow from them.

A new kind is one line in `Kind` and one in `_DESCRIPTIONS` here, one rule in `core.ledger.books`, and the use case that
appends it. Filters, pages, charts and documents read this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """The state of a release. It follows from the release's last ledger entry."""

    ORDERED = "ordered"
    COUNTING = "counting"  # noisy numbers of some steps are drawn and stored; the counts of the next step are awaited
    BURNT = "burnt"  # noise was drawn and nothing is published (yet): the charge is spent for good
    PUBLISHED = "published"
    VOID = "void"


class Kind(StrEnum):
    """What an entry records. Kinds are only ever added, and none changes its meaning."""

    GRANT = "grant"
    CHARGE = "charge"
    DRAW = "draw"
    STEP = "step"
    PUBLISH = "publish"
    VOID = "void"
    CLOSE = "close"
    ISSUE = "issue"
    REVOKE = "revoke"
    KEY = "key"
    RULE = "rule"
    REQUEST = "request"
    REFUSE = "refuse"

    @property
    def description(self) -> KindDescription:
        """What this kind means."""
        return _DESCRIPTIONS[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class KindDescription:
    """What entries of a kind mean, and what their epsilon and their release become.

    `phrase` is how a page tells of one entry; `meaning` is the sentence of the documents; `remark` is added to an entry
    that gives no reason of its own. `granted_sign` and `spent_sign` say how the entry's epsilon changes the two sums of
    a dataset's budget. `state` is the state that the entry leaves its release in.
    """

    phrase: str
    meaning: str
    remark: str = ""
    granted_sign: int = 0
    spent_sign: int = 0
    state: State | None = None
    about_keys: bool = False


_DESCRIPTIONS: Mapping[Kind, KindDescription] = {
    Kind.GRANT: KindDescription(
        phrase="granted",
        meaning="Epsilon given to a dataset. The first grant registers the dataset.",
        granted_sign=1,
    ),
    Kind.CHARGE: KindDescription(
        phrase="charged for a release",
        meaning="Epsilon spent on an ordered release, before any row is read.",
        spent_sign=1,
        state=State.ORDERED,
    ),
    Kind.DRAW: KindDescription(
        phrase="noise drawn",
        meaning="Noise is about to be drawn for a release: from here on its charge is spent for good.",
        remark="the charge is spent for good",
        state=State.BURNT,
    ),
    Kind.STEP: KindDescription(
        phrase="one step drawn",
        meaning="The noisy numbers of one step of a release whose rows are counted elsewhere: the bought size, or the "
        "digest of a layer's noisy counts. The next step builds on them.",
        state=State.COUNTING,
    ),
    Kind.PUBLISH: KindDescription(
        phrase="synopsis published",
        meaning="The digest of the synopsis that a charge bought, and that of its card.",
        state=State.PUBLISHED,
    ),
    Kind.VOID: KindDescription(
        phrase="given back by a void order",
        meaning="Epsilon given back by an order for which no noise was drawn.",
        spent_sign=-1,
        state=State.VOID,
    ),
    Kind.CLOSE: KindDescription(
        phrase="dataset closed for good",
        meaning="No more grants, orders or uploads for a dataset.",
    ),
    Kind.ISSUE: KindDescription(
        phrase="key issued",
        meaning="A key was made: its id, name, role and datasets, and a hash of its secret.",
        about_keys=True,
    ),
    Kind.REVOKE: KindDescription(
        phrase="key revoked",
        meaning="A key was ended.",
        about_keys=True,
    ),
    Kind.KEY: KindDescription(
        phrase="log signed by a new key",
        meaning="The ledger's log has another key from here on: its verifier key.",
        about_keys=True,
    ),
    Kind.RULE: KindDescription(
        phrase="two-person rule set",
        meaning="From here on an order, a grant or a void of this dataset above so much epsilon needs two keys.",
    ),
    Kind.REQUEST: KindDescription(
        phrase="asked for a second person",
        meaning="An order, a grant, a void or a rule that waits until another key approves it. It spends nothing.",
    ),
    Kind.REFUSE: KindDescription(
        phrase="request refused",
        meaning="A request was refused, or withdrawn by the key that made it. It can no longer be approved.",
    ),
}

# The steps of a release whose rows are counted elsewhere (`core.counting`), by their place in its course. Each is drawn
# once at most. An upload of rows draws all that is left at once, as LAST_STEP, and its `draw` names no step.
LAST_STEP = 4
STEPS: Mapping[str, int] = {"size": 1, "base": 2, "coarse": 3, "leaves": LAST_STEP, "cells": LAST_STEP}


def step_of(detail: Mapping[str, Any]) -> int | None:
    """The place of the step that a `draw` or a `step` is of; None where its detail names a step that there is not."""
    return STEPS.get(str(detail["step"])) if "step" in detail else LAST_STEP


# When noise was drawn or a synopsis published tells how long an upload took, and that depends on its rows.
PRIVATE_TIMES = (Kind.DRAW, Kind.STEP, Kind.PUBLISH)

KEY_KINDS = frozenset(kind for kind in Kind if kind.description.about_keys)
