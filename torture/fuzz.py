"""Fuzz: requests made from the OpenAPI document in every role, and damaged files of every upload format.

2,000 requests to each operation, spread over all roles, limited and revoked keys and nobody; the application runs in
this process. 5,000 files of each format, sent to a real service. TIMES=100 sends 100 of each.
"""

from __future__ import annotations

from collections.abc import Iterator

from torture.console import Result
from torture.fuzzing.requests import request_results
from torture.fuzzing.uploads import upload_results
from torture.services import times

_REQUESTS = 2000  # to each operation
_FILES = 5000  # of each format


def run() -> Iterator[Result]:
    """Requests, then files."""
    yield from request_results(times(_REQUESTS))
    yield from upload_results(times(_FILES))
