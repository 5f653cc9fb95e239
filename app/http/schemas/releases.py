"""Releases on the wire."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from app.http.schemas.datasets import SynopsisReference
from app.http.schemas.orders import GridReply, NoiseReply
from app.ingest.upload import Ingest
from app.releases.reading import Release
from app.releases.uploading import Published
from core.ledger.kinds import State
from core.plan import make_plan
from core.synopsis import Synopsis


class ChargeReply(BaseModel):
    """The ledger entry that paid for a release."""

    epsilon: str
    seq: int


class ReleasePlan(BaseModel):
    """The order of a release; its grid is known at once for a declared size, else when it is published."""

    order: dict[str, Any]
    grid: GridReply | None
    threshold: int | None = Field(description="Only cells whose noisy count reaches it are released; null: every cell.")
    noise: NoiseReply
    size: int | None = Field(description="The size that the grid was planned for: declared, or noisy once published.")


class ReleaseReply(BaseModel):
    """One run of stage 1."""

    id: str
    dataset: str
    state: State
    plan: ReleasePlan
    charge: ChargeReply
    synopsis: SynopsisReference | None

    @classmethod
    def of(cls, release: Release, synopsis: Synopsis | None) -> ReleaseReply:
        """From a release and, once it is published, its synopsis."""
        return cls(
            id=release.id,
            dataset=release.dataset,
            state=release.standing.state,
            plan=_release_plan(release, synopsis),
            charge=ChargeReply(epsilon=str(release.standing.epsilon), seq=release.standing.seq),
            synopsis=SynopsisReference.of(release.standing),
        )


class IngestReply(BaseModel):
    """What became of the rows: for the curator, in this reply and nowhere else."""

    rows_read: int
    rows_dropped: int
    rows_clipped: int

    @classmethod
    def of(cls, ingest: Ingest) -> IngestReply:
        """From an Ingest."""
        return cls(rows_read=ingest.rows_read, rows_dropped=ingest.rows_dropped, rows_clipped=ingest.rows_clipped)


class PublishedReply(ReleaseReply):
    """A release that has just been published."""

    ingest: IngestReply

    @classmethod
    def after(cls, published: Published) -> PublishedReply:
        """From what publishing gave."""
        reply = ReleaseReply.of(published.release, published.synopsis)
        return cls(**reply.model_dump(), ingest=IngestReply.of(published.ingest))


def _release_plan(release: Release, synopsis: Synopsis | None) -> ReleasePlan:
    grid, size, threshold = None, None, None
    if synopsis is not None:
        grid, size, threshold = synopsis.grid, synopsis.size, synopsis.threshold
    elif release.order.is_declared:
        planned = make_plan(release.order.order, max_cells=release.max_cells)
        grid, size, threshold = planned.grid, planned.size, planned.threshold
    return ReleasePlan(
        order=release.order.to_json(),
        grid=GridReply.of(grid) if grid else None,
        threshold=threshold,
        noise=NoiseReply.of(release.order),
        size=size,
    )
