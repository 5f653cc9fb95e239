"""Black-box audit at the level of persons: somebody with a hundred rows, of which three are counted.

The file passes through the readers, contribution bounding and the release. Event, fixed in advance: "noisy count >= 3",
for a cell that holds the rows of one person or none. Of the person three rows are counted, so the exact count is 3 or
0. With noise at the rate epsilon / 3 the two probabilities have the ratio exp(epsilon), the most that epsilon-DP allows
(`tests.statistical.test_audit` has the bound and how close it comes). Every cell of a release is an independent trial.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from app.ingest.formats import MediaType
from app.ingest.limits import Limits
from app.ingest.upload import read_upload
from core.budget import Epsilon
from core.domain.category import Category
from core.domain.domain import Domain
from core.plan import DeclaredSize, Order, make_plan
from core.randomness import NoiseSource
from core.records import OutOfRange
from core.release import release
from core.unit import RECORD, Unit
from tests.statistical.test_audit import epsilon_lower_bound

CELLS, RELEASES = 1000, 100
MAX_ROWS, ROWS = 3, 100
DOMAIN = Domain((Category("ward", tuple(f"ward {i}" for i in range(CELLS))),))
ORDER = Order(
    attributes=DOMAIN.attributes,
    epsilon=Epsilon.parse("1"),
    clusters=1,
    size=DeclaredSize(1000),
    unit=Unit("patient", MAX_ROWS),
)
HEADER = "patient,ward\n"
PRESENT = HEADER + "".join(f"p{i},ward {i}\n" * ROWS for i in range(CELLS))


def noisy_counts(body: str, order: Order) -> NDArray[np.int64]:
    """The noisy counts of many releases of a file, whose rows are bounded for persons and noised as `order` says."""
    plan = make_plan(ORDER, max_cells=CELLS)
    with read_upload(
        [body.encode()],
        media_type=MediaType.CSV,
        gzip=False,
        order=ORDER,
        domain=DOMAIN,
        out_of_range=OutOfRange.CLIP,
        max_cells=CELLS,
        limits=Limits(),
    ) as rows:
        counts = rows.count_on(plan)
    noised = replace(plan, order=order)
    drawn = [
        release(
            counts,
            noised,
            NoiseSource(),
            domain=DOMAIN,
            out_of_range=OutOfRange.CLIP,
            dataset="audit",
            release_id="1",
        )
        for _ in range(RELEASES)
    ]
    return np.concatenate([synopsis.counts for synopsis in drawn])


def measured(order: Order) -> float:
    """The lower bound on the loss of one person."""
    likely, unlikely = (int((noisy_counts(body, order) >= MAX_ROWS).sum()) for body in (PRESENT, HEADER))
    return epsilon_lower_bound(likely, unlikely, CELLS * RELEASES)


def test_a_person_with_a_hundred_rows_loses_no_more_than_is_claimed_and_no_less() -> None:
    """From 10^5 cells a side at epsilon 1 the lower bound on the loss is at most 1 and above 0.9."""
    assert 0.9 < measured(ORDER) <= 1.0


def test_noise_for_single_records_is_caught() -> None:
    """Three rows of a person under the noise of one lose about three times the claim."""
    assert measured(replace(ORDER, unit=RECORD)) > 2.5
