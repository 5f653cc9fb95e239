"""The files that pages load: our own styles and modules, and Plotly's one file out of its wheel. No CDN, no build step.

The address carries a digest of everything, so a browser may keep a file for ever and never holds an old one.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.errors import NotFound

PLOTLY = "plotly.min.js"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOR_EVER = "public, max-age=31536000, immutable"
_SMALL = 1000  # bytes; below this, compressing is not worth its header


@dataclass(frozen=True)
class Asset:
    """One file in memory, compressed when it is first asked for."""

    body: bytes
    media_type: str

    @cached_property
    def compressed(self) -> bytes:
        """The same in gzip."""
        return gzip.compress(self.body, compresslevel=6, mtime=0)


@cache
def assets() -> dict[str, Asset]:
    """Every file by its name."""
    by_name = {entry.name: _asset(entry) for entry in files("app.dashboard").joinpath("static").iterdir()}
    by_name[PLOTLY] = _asset(files("plotly").joinpath("package_data", PLOTLY))
    return by_name


def _asset(entry: Traversable) -> Asset:
    suffix = entry.name[entry.name.rindex(".") :]
    return Asset(body=entry.read_bytes(), media_type=_TYPES[suffix])


@cache
def version() -> str:
    """A digest of all files: the one address they share."""
    whole = sha256()
    for name, asset in sorted(assets().items()):
        whole.update(name.encode() + b"\0" + sha256(asset.body).digest())
    return whole.hexdigest()[:16]


def address(name: str) -> str:
    """Where a page finds a file; KeyError for one that is not there."""
    assert name in assets()  # noqa: S101 - a template's misspelling
    return f"/static/{version()}/{name}"


async def serve(request: Request) -> Response:
    """One file, compressed for whoever takes that."""
    asset = assets().get(request.path_params["name"])
    if asset is None or request.path_params["version"] != version():
        raise NotFound("There is no file of this name.")
    headers = {"Cache-Control": _FOR_EVER, "Vary": "Accept-Encoding"}
    body = asset.body
    if len(body) > _SMALL and "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        body = asset.compressed
    return Response(body, media_type=asset.media_type, headers=headers)


route = Route("/static/{version}/{name}", serve, methods=["GET"], name="asset")
