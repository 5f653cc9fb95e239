"""Files of rows for engines, orders about them, and their counts by an engine and by an upload."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from app.engines.counting import Engine, open_engine
from app.ingest.formats import MediaType
from app.ingest.limits import Limits
from app.ingest.upload import read_upload
from core.budget import Epsilon
from core.counting import Drawn, Target, next_target
from core.domain.category import Category
from core.domain.domain import Domain
from core.domain.number import Number
from core.plan import DeclaredSize, Order
from core.records import OutOfRange
from core.unit import RECORD, Unit

DOMAIN = Domain((Number("age", 0, 100), Category("sex", ("f", "m"))))
ROWS = 5000
LIMITS = Limits()


def table(seed: int = 1, rows: int = ROWS) -> pa.Table:
    """Rows with values out of range, missing and of no category, and a person for each few of them."""
    rng = np.random.default_rng(seed)
    ages = rng.normal(50, 30, rows)
    return pa.table(
        {
            "age": pa.array(ages, mask=rng.random(rows) < 0.05),
            "sex": pa.array(rng.choice(["f", "m", "x"], rows)),
            "patient": pa.array(rng.integers(0, rows // 4, rows)),
        }
    )


def order_for(domain: Domain = DOMAIN, unit: Unit = RECORD, **terms: Any) -> Order:
    """A plain order, or one of other terms."""
    plain = {"epsilon": Epsilon.parse("1"), "clusters": 4, "size": DeclaredSize(ROWS)}
    return Order(attributes=domain.attributes, unit=unit, **plain | terms)


def target_for(domain: Domain = DOMAIN, unit: Unit = RECORD) -> Target:
    """Its cells."""
    return next_target(order_for(domain, unit), Drawn(), max_cells=10**6)


def engine_for(*files: object, **changes: Any) -> Any:
    """A local engine."""
    options: dict[str, Any] = {
        "domain": DOMAIN,
        "unit": RECORD,
        "out_of_range": OutOfRange.CLIP,
        "limits": LIMITS,
    } | changes
    return open_engine([str(file) for file in files], **options)


def counted(*files: object, **changes: Any) -> tuple[np.ndarray[Any, Any], Any]:
    """All counts, and what became of the rows."""
    target = target_for(changes.get("domain", DOMAIN), changes.get("unit", RECORD))
    engine: Engine
    with engine_for(*files, **changes) as engine:
        return target.dense(engine.count(target)), engine.check()


def write(rows: pa.Table, path: Path) -> Path:
    """A file of the kind that its name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.suffixes[0]:
        case ".parquet":
            pa.parquet.write_table(rows, path, row_group_size=700)
        case ".arrow":
            with pa.ipc.new_stream(path, rows.schema) as writer:
                writer.write_table(rows, max_chunksize=900)
        case ".csv":
            pa.csv.write_csv(rows, path)
        case ".ndjson":
            path.write_text("\n".join(map(_line, rows.to_pylist())))
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(path.read_bytes()))
    return path


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row)


def uploaded(path: Path, media_type: MediaType, *, unit: Unit = RECORD) -> tuple[np.ndarray[Any, Any], Any]:
    """The counts that an upload of this file gives."""
    target = target_for(unit=unit)
    with read_upload(
        [path.read_bytes()],
        media_type=media_type,
        gzip=path.suffix == ".gz",
        order=order_for(unit=unit),
        domain=DOMAIN,
        out_of_range=OutOfRange.CLIP,
        max_cells=10**6,
        limits=LIMITS,
    ) as rows:
        assert target.plan is not None
        counts: Any = rows.count_on(target.plan)
        return counts.cells, rows.ingest


def die_once(flag: Path, task: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task; the first time, kill this process in its place, and leave its number in the file `flag`."""
    try:
        with flag.open("x") as file:
            file.write(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    except FileExistsError:
        pass
    return task(*arguments)
