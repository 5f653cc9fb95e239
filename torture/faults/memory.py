"""Memory that runs out while an upload is read: the service is held to what it has, and a little more, with RLIMIT_AS.

A record batch of 60 MB has to be held as a whole; the other formats are read piece by piece, and often go through.
"""

from __future__ import annotations

import io
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet

from torture.curator import ORDER, Job, ordered
from torture.faults.trial import Fault, Scene, Strike
from torture.model import Broken
from torture.services import Place, folder, settings

_ROWS = {"arrow": 3_900_000, "parquet": 4_000_000, "ndjson": 250_000}
_MIB = 2**20
_LEAST, _MOST = 9, 24  # MiB; less than a stack for a thread leaves no thread for a request
_SIZES: tuple[dict[str, object], ...] = ({"declared": 500}, {"estimate": "0.00005"})
# Not enough memory; and what a library says of a file where it is short of memory itself.
_REFUSALS = {"out-of-memory": 503, "unreadable-upload": 422}


@contextmanager
def short() -> Iterator[tuple[Place, Strike]]:
    """A service whose memory is short for the time of one upload."""
    with folder() as made:
        yield Place(settings(made), made), _strike


def _strike(scene: Scene) -> None:
    """Large uploads, one of Arrow and another one, while memory is short."""
    arrow, *others = _bodies()
    process = psutil.Process(scene.server.process.pid)
    held = process.memory_info().vms + scene.chance.randint(_LEAST, _MOST) * _MIB
    with _limited(process.pid, held):
        for media_type in (arrow, scene.chance.choice(others)):
            _upload(scene, media_type)


def _upload(scene: Scene, media_type: str) -> None:
    """Published, or refused as documented, and then its order is open or honestly burnt."""
    size = scene.chance.choice(_SIZES)
    with scene.here.client(scene.server) as curator:
        release = ordered(curator, scene.acknowledged, scene.chance, Job(ORDER | {"size": size}))
        if release is None:
            return
        headers = {"Content-Type": media_type}
        reply = curator.put(f"/v1/releases/{release}/records", content=_bodies()[media_type], headers=headers)
        if reply.is_success:
            scene.acknowledged.digests[release] = reply.json()["synopsis"]["digest"]
            return
        problem = str(reply.json()["type"]).rpartition(":")[2]
        state = curator.get(f"/v1/releases/{release}").json()["state"]
        if _REFUSALS.get(problem) != reply.status_code or state not in ("ordered", "burnt"):
            raise Broken(f"An upload that was short of memory got {reply.status_code}, {problem}, and is {state}.")
        scene.acknowledged.refused[problem] += 1


@contextmanager
def _limited(pid: int, held: int) -> Iterator[None]:
    resource.prlimit(pid, resource.RLIMIT_AS, (held, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@cache
def _bodies() -> dict[str, bytes]:
    """Uploads by media type, each in as few pieces as its format allows: one record batch, one row group, one line."""
    stream, parquet = io.BytesIO(), io.BytesIO()
    batch, group = _table(_ROWS["arrow"]), _table(_ROWS["parquet"])
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_table(batch)
    pyarrow.parquet.write_table(group, parquet, row_group_size=len(group))
    return {
        "application/vnd.apache.arrow.stream": stream.getvalue(),
        "application/vnd.apache.parquet": parquet.getvalue(),
        "text/csv": b"age,income\n" + b"9" * (60 * _MIB),
        "application/x-ndjson": b'{"age":12.5,"income":300}\n' * _ROWS["ndjson"],
    }


def _table(rows: int) -> pa.Table:
    chance = np.random.default_rng(1)
    return pa.table({"age": chance.uniform(0, 100, rows), "income": chance.uniform(0, 1000, rows)})


FAULTS = (Fault("memory exhausted in a reader", short),)
