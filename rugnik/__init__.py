"""A client for rugnik that needs httpx and nothing of the server.

    from rugnik import Client

    with Client("http://127.0.0.1:8000", key) as rugnik:
        release = rugnik.order("survey", epsilon="0.5", clusters=5)
        rugnik.upload(release.id, "rows.csv")
        print(rugnik.clusters(release.id, k=5).to_pandas())

`rugnik.open("survey.rugnik")` answers the same questions from a bundle, without a service; that needs
`rugnik[offline]`.

Answers are the frozen dataclasses of `rugnik.wire`, with the service's JSON in `.raw`; errors are the tree in
`rugnik.errors`.
"""

from rugnik import errors, wire
from rugnik.client import Client
from rugnik.errors import Problem, RugnikError
from rugnik.offline import OfflineRelease
from rugnik.offline import open_bundle as open  # noqa: A004 - rugnik.open(), as gzip.open() and wave.open()
from rugnik.transport import Retries

__all__ = ["Client", "OfflineRelease", "Problem", "Retries", "RugnikError", "errors", "open", "wire"]
