"""Everything that a service shows of two neighbouring uploads, compared: only what is noisy may differ.

The noise is replaced by a script that does not look at the exact counts. So nothing is left that may differ, and all is
compared to the last byte: statuses, headers, plans, cards, every form of the synopsis, answers, the entries of the
ledger, and the lines of the log but for the time that a request of an analyst took. Names of datasets and releases,
which have one length, and what is worked out from them (digests, hashes, salts, numbers of entries) are left out.
Receipts and bundles have proofs, whose length depends on the place in the ledger: those are compared in two ledgers, by
`tests/app/releases/test_neighbours.py`.
"""

from __future__ import annotations

import io
import json
import random
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from httpx import Response

from app.access.permissions import Role
from app.main import create_app
from app.settings.settings import Settings
from core.cells import Cells, DenseCells, ThresholdedCells
from core.plan import Plan
from tests.support.service.api import Api, frozen_clock
from torture.auditing.neighbours import Neighbours, neighbours

Looks = dict[str, Any]
_SCRIPT = [500, 0, 90, -7]
_SIZE = 700
_FORMS = ("json", "csv", "parquet", "arrow")
_NAMELESS = {"seq", "hash", "previous", "salt", "digest", "card", "ledger_entry", "entries"}
_OF_NAMES = {"etag", "content-length", "x-request-id", "date"}


def differences(folder: Path, numbers: Iterable[int]) -> Iterator[str]:
    """A sentence for each pair of uploads that can be told apart."""
    lines = io.StringIO()
    with _scripted_noise(), patch.object(sys, "__stderr__", lines):
        settings = Settings(data_dir=folder / "data", log_level="debug", max_datasets=10_000, checkpoint_seconds=0)
        with Api(create_app(settings, frozen_clock)) as api:
            for number in numbers:
                pair = neighbours(random.Random(f"pair {number}"))
                one, other = (_looks(api, pair, side, f"{'ab'[side]}-{number:06}", lines) for side in range(2))
                wrong = [where for where in one if one[where] != other.get(where)]
                if wrong or one.keys() != other.keys():
                    yield f"pair {number} ({pair.about}): {', '.join(wrong[:5])}"


@contextmanager
def _scripted_noise() -> Iterator[None]:
    """Noisy numbers that follow from the cells alone. What is counted is counted as ever."""

    def cells(_counts: Any, plan: Plan, _noise: Any) -> Cells:
        grid = plan.grid
        if plan.threshold is None:
            return DenseCells(grid, np.resize(np.array(_SCRIPT), grid.cell_count))
        listed = np.arange(0, grid.cell_count, max(1, grid.cell_count // 50))
        return ThresholdedCells(grid, listed, plan.threshold + np.arange(len(listed)), plan.threshold)

    def layer(counts: Any, *_: Any) -> Any:
        return np.resize(np.array(_SCRIPT), len(counts))

    with ExitStack() as patched:
        patched.enter_context(patch("core.release.noised", cells))
        patched.enter_context(patch("core.release.noisy_size", lambda *_: _SIZE))
        patched.enter_context(patch("core.adaptive.release._noised", layer))
        yield


def _looks(api: Api, pair: Neighbours, side: int, name: str, lines: io.StringIO) -> Looks:
    """All that can be seen of one of the two uploads."""
    lines.seek(0)
    lines.truncate()
    body = {"name": name, "attributes": pair.attributes, "budget": "2"}
    extra = {} if pair.unit is None else {"unit": pair.unit}
    replies = {"registered": api.curator("POST", "/v1/datasets", json=body | extra)}
    replies["planned"] = api.curator("POST", f"/v1/datasets/{name}/plans", json=_plan(pair.order))
    replies["ordered"] = api.curator("POST", f"/v1/datasets/{name}/releases", json=pair.order)
    for what, reply in replies.items():
        assert reply.is_success, (what, reply.text)
    release = str(replies["ordered"].json()["id"])
    headers = {"Content-Type": pair.media_type.value}
    replies["uploaded"] = api.upload(release, pair.files[side], headers)
    replies["again"] = api.upload(release, pair.files[1 - side], headers)
    roles = [Role.ANALYST, pair.reader]
    for role, (what, path) in product(roles, _paths(name, release).items()):
        if role is Role.ANALYST or not what.startswith("synopsis"):
            replies[f"{what}, {role.value}"] = api.call(role, "GET", path)
    seen = {what: _seen(reply, name, release) for what, reply in replies.items()}
    assert seen["uploaded"][0] in {200, 422}, replies["uploaded"].text
    log = [_without(json.loads(line), {"timestamp", "milliseconds"}) for line in lines.getvalue().splitlines()]
    return {**seen, "log": _renamed(json.dumps(log), name, release)}


def _plan(order: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in order.items() if key != "label"}


def _paths(name: str, release: str) -> dict[str, str]:
    below = f"/v1/releases/{release}"
    forms = {f"synopsis as {form}": f"{below}/synopsis?format={form}" for form in _FORMS}
    return forms | {
        "dataset": f"/v1/datasets/{name}",
        "releases": f"/v1/datasets/{name}/releases",
        "release": below,
        "count": f"{below}/count",
        "moments": f"{below}/moments",
        "card": f"{below}/card",
        "ledger": f"/v1/ledger?dataset={name}",
    }


def _seen(reply: Response, name: str, release: str) -> tuple[int, Any, Any]:
    """Status, headers and body; of a body that is no text, or is signed, its length."""
    headers = sorted(
        (key, _renamed(value, name, release)) for key, value in reply.headers.items() if key not in _OF_NAMES
    )
    kind = reply.headers.get("content-type", "")
    if "json" in kind:
        body = reply.json()
        if isinstance(body, dict):
            body.pop("ingest", None)  # the curator's own, in this reply only
        return reply.status_code, headers, _renamed(json.dumps(_without(body, _NAMELESS)), name, release)
    if "csv" in kind or "html" in kind:
        return reply.status_code, headers, _renamed(reply.text, name, release)
    return reply.status_code, headers, len(reply.content)


def _without(value: Any, names: set[str]) -> Any:
    """A value of JSON without the fields of these names, at any depth."""
    if isinstance(value, dict):
        return {key: _without(each, names) for key, each in value.items() if key not in names}
    return [_without(each, names) for each in value] if isinstance(value, list) else value


def _renamed(text: str, name: str, release: str) -> str:
    """The text with one name for all datasets, releases, digests and numbers of entries."""
    text = text.replace(name, "the dataset").replace(release, "the release")
    return re.sub(r"[0-9a-f]{64}|entry[- ][0-9,]+", "…", text)
