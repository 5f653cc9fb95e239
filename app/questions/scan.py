"""Inertia and stability for several k."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated

from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from core.checkpoint import Checkpoint
from core.errors import InvalidQuery
from core.queries import cluster_scan
from core.queries.effort import effort_of_scan
from rugnik import wire
from rugnik.wire.limits import Doc, Limits, Seed

MAX_SCAN = 32
_SCAN = re.compile(r"([0-9]{1,4})\.\.([0-9]{1,4})", re.ASCII)


@question(wire.Scan)
def scan(
    k: Annotated[str, Limits(max_length=20), Doc("The k to try, such as 2..10.")],
    seed: Seed = 0,
) -> Question:
    """Inertia and stability for several k."""
    ks = _parse(k)

    def answer(prepared: Prepared, checkpoint: Checkpoint, common: Common) -> wire.Scan:
        result = cluster_scan.scan(prepared.histogram, ks, seed=seed, checkpoint=checkpoint)
        advised = result.recommended
        return wire.Scan(
            **common,
            notes=() if advised else (cluster_scan.NOTHING_STANDS_OUT,),
            scan=tuple(
                wire.ScanLine(k=line.k, inertia=line.inertia, stability=line.stability) for line in result.lines
            ),
            method=result.choice.method.value,
            method_reason=result.choice.reason,
            recommended=None if advised is None else wire.RecommendedClusters(k=advised.k, reason=advised.reason),
        )

    return Question("scan", {"k": k, "seed": seed}, answer, effort_of=partial(effort_of_scan, ks=ks), costly=True)


def _parse(text: str) -> range:
    """`2..10` as a range with both ends; InvalidQuery for anything else."""
    ends = _SCAN.fullmatch(text)
    if ends is None:
        raise InvalidQuery("Write the k to scan as first..last, such as 2..10.")
    first, last = int(ends[1]), int(ends[2])
    if not 1 <= first <= last or last - first >= MAX_SCAN:
        raise InvalidQuery(f"A scan goes upwards from 1 or more and takes at most {MAX_SCAN} values of k.")
    return range(first, last + 1)
