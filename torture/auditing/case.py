"""Case: a kind of release to audit. Units that are in its file or not by coins, and what an analyst sees of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from app.ingest.formats import MediaType
from tests.app.ingest.bodies import arrow_body, parquet_body
from tests.support.service.api import Api
from torture.auditing.guesses import Coins, Scores

_BUDGET = 900
Columns = dict[str, list[Any]]
Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """`file` makes the columns of a file from the coins, and `scores` a number for each unit from the synopsis.

    The higher a score, the more likely the unit is in the file. `share` is how much of epsilon the audit has to show.
    """

    name: str
    attributes: list[dict[str, Any]]
    order: dict[str, Any]
    units: int
    file: Callable[[Coins], Columns]
    scores: Callable[[Answer], Scores]
    media_type: MediaType = MediaType.CSV
    unit: dict[str, Any] | None = None
    releases: int = 80
    share: float = 0.85
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def epsilon(self) -> float:
        """What a release is charged."""
        return float(self.order["epsilon"])


def measured(api: Api, case: Case, releases: int, chance: np.random.Generator) -> tuple[Scores, Coins]:
    """The scores of that many releases through the service, and the coins, a row for each release."""
    scores, coins = [], []
    each = int(_BUDGET / case.epsilon)  # of one dataset
    for number in range(releases):
        name = f"audited-{number // each}"
        if number % each == 0:
            body = {"name": name, "attributes": case.attributes, "budget": str(_BUDGET), "unit": case.unit}
            registered = api.curator("POST", "/v1/datasets", json={key: body[key] for key in body if body[key]})
            assert registered.status_code == 201, registered.text
        flipped = chance.random(case.units) < 0.5
        ordered = api.curator("POST", f"/v1/datasets/{name}/releases", json=case.order)
        assert ordered.status_code == 201, ordered.text
        release = ordered.json()["id"]
        assert ordered.json()["charge"]["epsilon"] == case.order["epsilon"]
        reply = api.upload(release, written(case.file(flipped), case.media_type), {"Content-Type": case.media_type})
        assert reply.status_code == 200, reply.text
        scores.append(case.scores(api.analyst("GET", f"/v1/releases/{release}/synopsis").json()))
        coins.append(flipped)
    return np.array(scores), np.array(coins)


def written(columns: Columns, media_type: MediaType) -> bytes:
    """Columns as a file."""
    if media_type is MediaType.PARQUET:
        return parquet_body(pa.table(columns))
    if media_type is MediaType.ARROW_STREAM:
        return arrow_body(pa.table(columns))
    names, rows = list(columns), zip(*columns.values(), strict=True)
    if media_type is MediaType.CSV:
        lines = [",".join(names), *(",".join("" if value is None else str(value) for value in row) for row in rows)]
    else:
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    return "".join(line + "\n" for line in lines).encode()
