"""Releases: the reply about one, and the reply to its upload."""

from __future__ import annotations

from typing import Any

from app.http.conversions.datasets import synopsis_reference
from app.http.conversions.orders import noise_reply, rule_note
from app.questions.encoding import cells_reply, grid_reply
from app.releases.counting import Awaited
from app.releases.reading import Release
from app.releases.uploading import Published
from core.plan import make_plan
from core.synopsis import Synopsis
from rugnik import wire


def release_reply(release: Release, synopsis: Synopsis | None) -> wire.Release:
    """A release and, once it is published, its synopsis."""
    return wire.Release(**_fields(release, synopsis))


def published_reply(published: Published) -> wire.Published:
    """A release that has just been published, with what became of its rows."""
    ingest = published.ingest
    counted = wire.Ingest(
        rows_read=ingest.rows_read,
        rows_dropped=ingest.rows_dropped,
        rows_clipped=ingest.rows_clipped,
        rows_over_limit=ingest.rows_over_limit,
    )
    return wire.Published(**_fields(published.release, published.synopsis), ingest=counted)


def awaited_reply(awaited: Awaited) -> wire.Awaited:
    """What a release waits for, and the noisy numbers from which its cells follow."""
    release, drawn = awaited.release, awaited.drawn
    return wire.Awaited(
        release=release.id,
        dataset=release.dataset,
        step=awaited.target.step.value,
        order=release.order.to_json(),
        attributes=tuple(release.domain.to_ledger()),
        max_cells=release.max_cells,
        size=drawn.size,
        base=None if drawn.base is None else tuple(drawn.base.tolist()),
        coarse=None if drawn.coarse is None else tuple(drawn.coarse.tolist()),
    )


def _fields(release: Release, synopsis: Synopsis | None) -> dict[str, Any]:
    standing = release.standing
    return {
        "id": release.id,
        "dataset": release.dataset,
        "state": standing.state.value,
        "plan": _plan(release, synopsis),
        "charge": wire.Charge(epsilon=str(standing.epsilon), seq=standing.seq),
        "synopsis": synopsis_reference(standing),
    }


def _plan(release: Release, synopsis: Synopsis | None) -> wire.ReleasePlan:
    order = release.order.order(release.domain)
    grid, size, threshold = None, None, None
    if synopsis is not None:
        grid, size, threshold = cells_reply(synopsis.cells), synopsis.size, synopsis.threshold
    elif release.order.is_declared or release.standing.size is not None:
        plan = make_plan(order, max_cells=release.max_cells, noisy_size=release.standing.size)
        grid, size, threshold = grid_reply(plan.grid, layered=plan.is_layered), plan.size, plan.threshold
    return wire.ReleasePlan(
        order=release.order.to_json(),
        grid=grid,
        threshold=threshold,
        noise=noise_reply(order, layered=grid.layered if grid else None),
        size=size,
        note=rule_note(order, layered=grid.layered) if grid else None,
    )
