"""Entropies of two attributes and their mutual information."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from app.questions.encoding import estimate_reply
from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from app.questions.reasons import Reasons
from core.checkpoint import Checkpoint
from core.errors import InvalidQuery
from core.queries import information as core_information
from core.queries.effort import effort_of_information
from core.queries.information import Information
from rugnik import wire
from rugnik.wire.limits import Cells, Doc, Level, Limits

_DROWNED = (
    "The noise hides nearly all of what is possible for {}: no value is given. Ask for fewer cells on an axis, with "
    "cells=…, or for a release of fewer attributes or a larger epsilon."
)


@question(wire.Information)
def information(
    attributes: Annotated[str, Limits(max_length=200), Doc("The names of two attributes, separated by a comma.")],
    level: Level = 0.95,
    cells: Cells = None,
) -> Question:
    """Entropies of two attributes and their mutual information, in bits, corrected for the noise."""
    names = tuple(attributes.split(","))
    if len(names) != 2:
        raise InvalidQuery("Name two attributes, separated by a comma: attributes=age,income.")
    first, second = names

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Information:
        computed = core_information.information(prepared.histogram, first, second, level=level, cells=cells)
        entropies = computed.entropies
        return wire.Information(
            **common,
            notes=_notes(computed),
            attributes=tuple(
                wire.AttributeEntropy(name=name, cells=number, entropy=estimate_reply(entropy))
                for name, number, entropy in zip(
                    names, computed.cells, (entropies.first, entropies.second), strict=True
                )
            ),
            rows=estimate_reply(computed.rows),
            joint_entropy=estimate_reply(entropies.joint),
            mutual_information=estimate_reply(entropies.mutual),
            warnings=_warnings(computed),
        )

    parameters: dict[str, Any] = {"attributes": list(names), "level": level}
    parameters = parameters if cells is None else {**parameters, "cells": cells}
    return Question(
        "information", parameters, answer, effort_of=partial(effort_of_information, names=(first, second), bins=cells)
    )


def _named(computed: Information) -> list[str]:
    return [*(f"the entropy of {name}" for name in computed.names), "the joint entropy", "the mutual information"]


def _warnings(computed: Information) -> tuple[str, ...]:
    lost = [name for name, each in zip(_named(computed), computed.entropies, strict=True) if each.value is None]
    return (_DROWNED.format(", ".join(lost)),) if lost else ()


def _notes(computed: Information) -> tuple[str, ...]:
    """Why estimates lie at an end of their intervals."""
    reasons, possible, rows = Reasons(), computed.possible, computed.rows
    reasons.about("the number of rows", rows.value, rows.interval.low, rows.interval.high, least=0.0)
    for name, each, most in zip(_named(computed), computed.entropies, possible, strict=True):
        reasons.about(name, each.value, each.interval.low, each.interval.high, least=0.0, most=most)
    return reasons.notes
