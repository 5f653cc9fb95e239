"""Full disks: for the database, for the witness file, for the spool. Each is a small file system in memory."""

from __future__ import annotations

import io
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from torture.curator import Job
from torture.faults.trial import Fault, Scene, Strike
from torture.services import Place, folder, settings

_BLOCK = 4096
_FULL_SECONDS = 0.4
_MIB = 2**20
_ROWS = 120_000


@cache
def _held() -> Job:
    """Parquet of more bytes than the service keeps in memory."""
    chance = np.random.default_rng(1)
    table = pa.table({"age": chance.uniform(0, 100, _ROWS), "income": chance.uniform(0, 1000, _ROWS)})
    body = io.BytesIO()
    pyarrow.parquet.write_table(table, body)
    return Job(rows=body.getvalue(), media_type="application/vnd.apache.parquet")


@contextmanager
def full(setting: str, path: str, mebibytes: int) -> Iterator[tuple[Place, Strike]]:
    """A place where this setting names a path on a disk of its own, which is filled to the last byte."""
    with folder() as made:
        disk = made / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=755", "tmpfs", str(disk)], check=True)
        own: dict[str, Any] = {"witness": made / "head", "upload_memory_bytes": _MIB, setting: disk / path}
        here = Place(settings(made, **own), made)
        try:
            yield here, partial(_fill, disk)
        finally:
            subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _fill(disk: Path, _scene: Scene) -> None:
    ballast = disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(_BLOCK))
    time.sleep(_FULL_SECONDS)
    ballast.unlink()


FAULTS = (
    Fault("disk full for the database, SQLite", partial(full, "data_dir", "data", 64), needs_root=True),
    Fault("disk full for the witness file", partial(full, "witness", "head", 1), needs_root=True),
    Fault("disk full for the spool", partial(full, "spool_dir", "", 32), needs_root=True, job=_held),
)
