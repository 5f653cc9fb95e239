"""Speed of stage 2: a cached answer beside a bare route, counts without a cache, and clusters beside scikit-learn.

`python -m bench.answers`. The targets: a cached answer reaches 0.7 of the requests per second of a FastAPI route that
does nothing but return the same bytes; a count on 10^6 cells takes under 2 ms and 10,000 boxes under 100 ms once the
cumulative counts are there; clusters with k = 8 on 400 cells are not slower than scikit-learn's KMeans on one thread.
Of an adaptive release with some 300,000 leaves: 10,000 boxes under 0.3 s, clusters with k = 32 under 2 s.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
import numpy as np
from threadpoolctl import threadpool_limits

from app.questions.counts import counts as ask_counts
from app.questions.encoding import encode
from app.questions.prepared import Prepared
from bench.peers.timed import timed_kmeans
from bench.report import Section, compare, cpu_seconds, publish, take_turns
from bench.synopses import released
from bench.uploads import served
from core.budget import NOTHING, Epsilon
from core.cells import DenseCells
from core.checkpoint import carry_on
from core.clustering.methods import Method
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.plan import Rule
from core.queries.boxes import Range
from core.queries.clusters import find_clusters
from core.queries.range_count import count_boxes
from core.records import OutOfRange
from core.synopsis import Synopsis
from rugnik.wire import CountsBody

CONNECTIONS = 8
SECONDS = 2.0
ROUNDS = 5

BARE = """
import sys, uvicorn
from fastapi import FastAPI, Response
app, body = FastAPI(), sys.argv[2].encode()
@app.get("/answer")
async def answer() -> Response:
    return Response(body, media_type="application/json")
uvicorn.run(app, port=int(sys.argv[1]), access_log=False, log_level="error")
"""


def synopsis(cells_per_axis: int, seed: int = 0) -> Synopsis:
    """A synopsis of two attributes with clusters and noise."""
    rng = np.random.default_rng(seed)
    grid = Grid.uniform(cells_per_axis, 2)
    centres, cells = rng.uniform(-0.8, 0.8, (8, 2)), grid.centres()
    density = sum(np.exp(-((cells - centre) ** 2).sum(axis=1) / 0.02) for centre in centres)
    counts = rng.poisson(20_000 * density / density.sum()) + np.rint(rng.laplace(0, 1, grid.cell_count)).astype(int)
    return Synopsis(
        dataset="d",
        release="r",
        domain=Domain((Number("x", 0, 100), Number("y", 0, 100))),
        cells=DenseCells(grid, counts.astype(np.int64)),
        epsilon=Epsilon.parse("1"),
        size_epsilon=NOTHING,
        clusters=8,
        rule=Rule.RUGNIK,
        out_of_range=OutOfRange.CLIP,
        size=20_000,
        size_declared=True,
    )


async def _requests(port: int, head: bytes, until: float) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    done = 0
    while time.perf_counter() < until:
        writer.write(head)
        reply = await reader.readuntil(b"\r\n\r\n")
        length = int(reply.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        done += 1
    writer.close()
    return done


def requests_per_second(port: int, path: str, headers: dict[str, str]) -> float:
    """Requests per second of CONNECTIONS clients that each send one request after the other."""
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items())]
    head = ("\r\n".join(lines) + "\r\n\r\n").encode()

    async def run() -> int:
        until = time.perf_counter() + SECONDS
        return sum(await asyncio.gather(*(_requests(port, head, until) for _ in range(CONNECTIONS))))

    return asyncio.run(run()) / SECONDS


@contextmanager
def bare(body: str) -> Iterator[int]:
    """A FastAPI application with one route that returns these bytes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    process = subprocess.Popen([sys.executable, "-c", BARE, str(port), body])
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/answer").raise_for_status()
            break
        except httpx.TransportError:
            time.sleep(0.1)
    try:
        yield port
    finally:
        process.terminate()
        process.wait()


def cached_answer() -> tuple[float, float]:
    """Requests per second of a cached count, and of the bare route, measured in turns."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (url, admin_key, _):
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {admin_key}"}) as client:
            key = client.post("/v1/keys", json={"name": "c", "role": "curator"}).json()["key"]
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=url, headers=headers) as client:
            attributes = [{"name": name, "lower": 0, "upper": 100} for name in "xy"]
            client.post("/v1/datasets", json={"name": "d", "budget": "1", "attributes": attributes}).raise_for_status()
            order = client.post("/v1/datasets/d/releases", json={"epsilon": "1", "clusters": 4}).json()
            rows = b"x,y\n" + b"1,2\n" * 1000
            records = f"/v1/releases/{order['id']}/records"
            client.put(records, content=rows, headers={"Content-Type": "text/csv"}).raise_for_status()
            path = f"/v1/releases/{order['id']}/count?where=x:10..40"
            body = client.get(path).text
        port = int(url.rpartition(":")[2])
        with bare(body) as bare_port:
            ours, limit = [], []
            for _ in range(ROUNDS):
                ours.append(requests_per_second(port, path, headers))
                limit.append(requests_per_second(bare_port, "/answer", headers))
    return statistics.median(ours), statistics.median(limit)


def counts() -> list[list[str]]:
    """Cold counts on 10^6 cells: one box, and ten thousand through the question that a POST asks."""
    prepared = Prepared(synopsis(1000))
    table = prepared.table
    rng = np.random.default_rng(1)
    lows = rng.uniform(0, 60, 10_000)
    boxes = [[f"x:{low}..{low + 30}", f"y:{low / 2}..{low}"] for low in lows.tolist()]
    singles = iter([((Range("x", low, low + 30),),) for low in lows.tolist()])
    one_box = {"one": lambda: count_boxes(table, next(singles), level=0.95, simultaneous=False)}
    single = compare(one_box, repeats=50)["one"]
    asked = ask_counts(CountsBody(boxes=boxes, level=0.95, simultaneous=True))
    many = compare({"many": lambda: asked.answer(prepared, carry_on)}, repeats=5)["many"]
    return [
        ["one cold count, 10^6 cells", f"{1000 * single:.2f} ms", "2 ms", f"{single / 0.002:.2f}"],
        ["10,000 boxes, 10^6 cells", f"{1000 * many:.0f} ms", "100 ms", f"{many / 0.1:.2f}"],
    ]


def clusters(cells_per_axis: int, k: int, method: Method) -> list[str]:
    """A row of the table: a whole clusters answer without a cache, beside KMeans alone."""
    asked = synopsis(cells_per_axis)
    cells, weights = asked.grid.centres(), np.maximum(asked.counts, 0)
    seeds = iter(range(1000))
    with threadpool_limits(1), timed_kmeans([(cells, weights)], k) as peer:
        call = partial(find_clusters, asked, k, level=0.95, method=method)
        ours_timer = partial(cpu_seconds, lambda: call(seed=next(seeds)))
        taken = take_turns({"ours": ours_timer, "theirs": peer.cpu_seconds}, repeats=7)
    ours, theirs = taken["ours"], taken["theirs"]
    label = f"clusters, {method}, k = {k}, {asked.grid.cell_count:,} cells"
    return [label, f"{1000 * ours:.1f} ms", f"{1000 * theirs:.1f} ms", f"{ours / theirs:.2f}"]


def adaptive() -> list[list[str]]:
    """An adaptive release with some 300,000 leaves: whole answers of 10,000 random boxes, and of cold clusters."""
    rng = np.random.default_rng(0)
    points = np.minimum(rng.exponential(0.25, (1_700_000, 2)) - 1.0, 1.0)  # crowded in a corner
    release = released(points, epsilon="1", clusters=8, declared=True, rng=rng, rule=Rule.ADAPTIVE)
    leaves, prepared = len(release.cells.counts), Prepared(release)
    ends = np.sort(rng.uniform(-1, 1, (10_000, 2, 2)), axis=2).tolist()
    boxes = [[f"x{x}:{low}..{high}" for x, (low, high) in enumerate(box)] for box in ends]
    body = CountsBody(boxes=boxes, level=0.95, simultaneous=False)
    gc.freeze()  # as a worker process does (`app.operations.worker_process`)
    many = compare({"many": lambda: encode(ask_counts(body).answer(prepared, carry_on))}, repeats=9)["many"]
    rows = [[f"10,000 boxes, {leaves:,} leaves", f"{1000 * many:.0f} ms", "300 ms", f"{many / 0.3:.2f}"]]
    for k in (8, 32):
        data, repeats = release.to_bytes(), 3
        cold = iter([Synopsis.from_bytes(data) for _ in range(repeats + 1)])
        calls = {"ours": partial(_clusters_of_next, cold, k)}
        taken = compare(calls, repeats=repeats)["ours"]
        rows.append([f"clusters, k = {k}, {leaves:,} leaves", f"{taken:.2f} s", "2 s", f"{taken / 2.0:.2f}"])
    return rows


def _clusters_of_next(releases: Iterator[Synopsis], k: int) -> None:
    """Clusters of a release that nothing was asked of before."""
    find_clusters(next(releases), k, level=0.95, seed=0)


def run() -> list[Section]:
    """The section of the report."""
    ours, limit = cached_answer()
    rows = [["cached answer", f"{ours:,.0f} requests/s", f"{limit:,.0f} requests/s", f"{ours / limit:.2f}"]]
    rows += [*counts(), *adaptive(), clusters(20, 8, Method.PROJECTED)]
    rows += [clusters(27, 8, Method.POSTERIOR), clusters(49, 10, Method.POSTERIOR)]
    section = Section(
        title="Answers",
        remarks=[
            "A cached answer beside a FastAPI route that returns the same bytes, one worker each, measured in turns "
            "(aim: at least 0.70 of it).",
            "Counts, and all answers of an adaptive release, beside their limits; other clusters beside scikit-learn's "
            "KMeans (n_init=10, one thread), which gives centres only: no intervals, no stability (aim: at most 1.00 "
            "of the time for projected counts; for the posterior under 1 s for 729 cells and under 3 s for 2,401).",
        ],
        header=["what", "rugnik", "beside", "ratio"],
        rows=rows,
    )
    return [section]


if __name__ == "__main__":
    publish(run(), "answers")
