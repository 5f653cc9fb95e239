"""The distribution of one attribute for each value or cell of another."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np

from app.questions.encoding import axis_reply
from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from app.questions.reasons import Reasons
from core.checkpoint import Checkpoint
from core.queries import conditional as core_conditional
from core.queries.conditional import Conditional
from core.queries.effort import effort_of_shares
from rugnik import wire
from rugnik.wire.limits import Cells, Doc, Level, Limits


@question(wire.Conditional)
def conditional(
    of: Annotated[str, Limits(max_length=64), Doc("The attribute whose distribution is asked for.")],
    given: Annotated[str, Limits(max_length=64), Doc("The attribute that it is given by.")],
    level: Level = 0.95,
    cells: Cells = None,
) -> Question:
    """The distribution of one attribute for each value or cell of another: shares with intervals."""

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Conditional:
        computed = core_conditional.conditional(prepared.histogram, of, given, level=level, cells=cells)
        columns = zip(
            computed.has_shares, computed.rows, *computed.rows_bounds, computed.shares, *computed.bounds, strict=True
        )
        return wire.Conditional(
            **common,
            notes=_notes(computed),
            given=axis_reply(*computed.given),
            attribute=axis_reply(*computed.of),
            level=level,
            distributions=tuple(
                wire.Distribution(
                    rows=wire.Estimate(
                        value=float(rows), interval=wire.Interval(level=level, low=float(fewest), high=float(most))
                    ),
                    shares=tuple(shares.tolist()) if has_shares else None,
                    low=tuple(low.tolist()),
                    high=tuple(high.tolist()),
                )
                for has_shares, rows, fewest, most, shares, low, high in columns
            ),
            warnings=_warnings(computed),
        )

    parameters: dict[str, Any] = {"of": of, "given": given, "level": level}
    parameters = parameters if cells is None else {**parameters, "cells": cells}
    return Question(
        "conditional", parameters, answer, effort_of=partial(effort_of_shares, names=(of, given), bins=cells)
    )


def _warnings(computed: Conditional) -> tuple[str, ...]:
    lost, cells = int(np.count_nonzero(~computed.has_shares)), len(computed.has_shares)
    if not lost:
        return ()
    return (
        f"{lost} of {cells} cells of {computed.given[0].name} may have no rows, given the noise: their shares are "
        "null.",
    )


def _notes(computed: Conditional) -> tuple[str, ...]:
    """Why shares or counts lie at an end of their intervals."""
    reasons = Reasons()
    reasons.about_many("counts of rows", computed.rows, *computed.rows_bounds)
    has_shares = computed.has_shares
    reasons.about_many("shares", computed.shares[has_shares], *(side[has_shares] for side in computed.bounds))
    return reasons.notes
