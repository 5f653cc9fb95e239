"""pyarrow that only reads a file, on one thread, to be measured: see bench/peers/stopwatch.py."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow.csv
import pyarrow.json
import pyarrow.parquet


def prepare(path: str, media_type: str, columns: list[str] | None = None) -> Callable[[], int]:
    """A call that reads the file, of Parquet the given columns alone, and returns the number of its rows."""

    def csv() -> int:
        return int(pyarrow.csv.read_csv(path, pyarrow.csv.ReadOptions(use_threads=False)).num_rows)

    def ndjson() -> int:
        return int(pyarrow.json.read_json(path, pyarrow.json.ReadOptions(use_threads=False)).num_rows)

    def parquet() -> int:
        file = pyarrow.parquet.ParquetFile(path)
        return sum(batch.num_rows for batch in file.iter_batches(2**16, columns=columns, use_threads=False))

    return {"text/csv": csv, "application/x-ndjson": ndjson, "application/vnd.apache.parquet": parquet}[media_type]
