"""A client for rugnik that needs httpx and nothing of the server.

    from rugnik import Client

    with Client("http://127.0.0.1:8000", key) as rugnik:
        release = rugnik.order("survey", epsilon="0.5", clusters=5)
        rugnik.upload(release.id, "rows.csv")
        print(rugnik.clusters(release.id, k=5).to_pandas())

Where a method takes a release, the name of a dataset stands for its newest published one. `AsyncClient` has the same
methods for asyncio. `rugnik.open("survey.rugnik")` answers the same questions from a bundle, without a service; that
needs `rugnik[offline]`.

Answers are the frozen dataclasses of `rugnik.wire`: a notebook draws them, `.plot()` and `.to_pandas()` hand them on,
and `.raw` is the service's JSON. Errors are the tree in `rugnik.errors`.
"""

from typing import Any

from rugnik import errors, wire
from rugnik.asynchronous.client import AsyncClient
from rugnik.client import Client
from rugnik.errors import Problem, RugnikError
from rugnik.offline import OfflineRelease
from rugnik.offline import open_bundle as open  # noqa: A004 - rugnik.open(), as gzip.open() and wave.open()
from rugnik.transport import Retries

__all__ = ["AsyncClient", "Client", "OfflineRelease", "Problem", "Retries", "RugnikError", "errors", "open", "wire"]


def __getattr__(name: str) -> Any:
    """`__version__`, read from the installed package when it is asked for."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - importing it takes time, and few ask

        return version("rugnik")
    raise AttributeError(f"module 'rugnik' has no attribute {name!r}")
