"""/v1/releases/{id}/…: the questions. One question per GET, so that anything can cache it; none spends epsilon."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import FiniteFloat

from app.http.asking import Level, Seed, answer, documented, fresh_answer
from app.http.callers import Asker
from app.http.routes.releases import ReleaseId
from app.http.schemas import answers as wire
from app.questions import questions
from core.clustering.methods import Method
from core.queries.denoise import CountsKind

router = APIRouter(prefix="/v1/releases/{release_id}", tags=["answers"])


@router.get("/count", responses=documented(wire.CountReply), response_class=Response)
async def count(
    request: Request,
    caller: Asker,
    release_id: ReleaseId,
    where: Annotated[wire.Where | None, Query(description=f"{wire.WHERE} Repeat for more.")] = None,
    level: Level = 0.95,
    snap: Annotated[
        bool,
        Query(description="Move both ends of each range to the nearest cell edge, so that no cell is cut."),
    ] = False,
) -> Response:
    """Count the rows in a box: a raw sum, with the interval of its whole error and the parts of that error."""
    return await answer(request, caller, release_id, questions.ask_count(where or [], level, snap))


@router.post("/counts", responses=documented(wire.CountsReply), response_class=Response)
async def counts(request: Request, caller: Asker, release_id: ReleaseId, body: wire.CountsBody) -> Response:
    """Count the rows in up to 10,000 boxes at once, each with the interval of its whole error."""
    question = questions.ask_counts(body.boxes, body.level, body.simultaneous)
    return await fresh_answer(request, caller, release_id, question)


@router.get("/marginal", responses=documented(wire.MarginalReply), response_class=Response)
async def get_marginal(
    request: Request,
    caller: Asker,
    release_id: ReleaseId,
    attributes: Annotated[str, Query(max_length=2000, description="Attribute names, separated by commas.")],
    level: Level = 0.95,
    counts: Annotated[
        CountsKind, Query(description="Raw counts, or non-negative ones with the same sum.")
    ] = CountsKind.RAW,
    cells: Annotated[
        int | None, Query(ge=1, le=2**16, description="At most so many cells on an axis: neighbours are added up.")
    ] = None,
) -> Response:
    """The histogram of some attributes, with standard errors."""
    question = questions.ask_marginal(attributes.split(","), level, counts, cells)
    return await answer(request, caller, release_id, question)


@router.get("/quantiles", responses=documented(wire.QuantilesReply), response_class=Response)
async def quantiles(
    request: Request,
    caller: Asker,
    release_id: ReleaseId,
    attribute: Annotated[str, Query(max_length=64)],
    q: Annotated[
        list[FiniteFloat], Query(min_length=1, max_length=100, description="Shares between 0 and 1; repeat for more.")
    ],
    level: Level = 0.95,
) -> Response:
    """Quantiles of one attribute, with intervals."""
    return await answer(request, caller, release_id, questions.ask_quantiles(attribute, q, level))


@router.get("/moments", responses=documented(wire.MomentsReply), response_class=Response)
async def moments(request: Request, caller: Asker, release_id: ReleaseId, level: Level = 0.95) -> Response:
    """Size, means, variances, covariances and correlations, with intervals."""
    return await answer(request, caller, release_id, questions.ask_moments(level))


@router.get("/clusters", responses=documented(wire.ClustersReply), response_class=Response)
async def clusters(
    request: Request,
    caller: Asker,
    release_id: ReleaseId,
    k: Annotated[int, Query(description="How many clusters.")],
    level: Level = 0.95,
    seed: Seed = 0,
    method: Annotated[
        Method,
        Query(
            description="What is clustered; the answer says what served, which may be another where this does not fit."
        ),
    ] = Method.POSTERIOR,
) -> Response:
    """Cluster the synopsis: centres in the attributes' own units, with what noise leaves certain about each."""
    return await answer(request, caller, release_id, questions.ask_clusters(k, level, seed, method))


@router.get("/clusters/scan", responses=documented(wire.ScanReply), response_class=Response)
async def scan(
    request: Request,
    caller: Asker,
    release_id: ReleaseId,
    k: Annotated[str, Query(max_length=20, description="The k to try, such as 2..10.")],
    seed: Seed = 0,
) -> Response:
    """Inertia and stability for several k."""
    return await answer(request, caller, release_id, questions.ask_scan(k, seed))


@router.post("/clusters/assign", responses=documented(wire.AssignReply), response_class=Response)
async def assign(request: Request, caller: Asker, release_id: ReleaseId, body: wire.AssignBody) -> Response:
    """Tell which of k centres is nearest to each of your own points."""
    question = questions.ask_assignment(body.points, body.k, body.seed, body.method)
    return await fresh_answer(request, caller, release_id, question)
