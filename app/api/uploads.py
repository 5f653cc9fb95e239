"""The body of an upload: an asynchronous stream on one side, a worker thread that counts on the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
from anyio import from_thread, to_thread
from fastapi import Request

from app.auth import Principal
from app.errors import Busy, RefusedRequest, UnsupportedMedia
from app.ingest.errors import Cap, UploadTooLarge
from app.ingest.formats import MediaType
from app.releases import Published, publish, require_uploadable
from app.service import Service

_ENCODINGS = {"": False, "identity": False, "gzip": True}


class UploadSlots:
    """As many uploads at once as settings allow, each in a thread of its own; others wait a little, then are told."""

    def __init__(self, slots: int, wait_seconds: float) -> None:
        self._limiter = anyio.CapacityLimiter(slots)
        self._wait = wait_seconds

    async def run(self, work: Any) -> Any:
        """Run `work` in a thread once there is a slot for it."""
        borrower = object()
        await self._acquire(borrower)
        try:
            return await to_thread.run_sync(work, limiter=anyio.CapacityLimiter(1))
        finally:
            self._limiter.release_on_behalf_of(borrower)

    async def _acquire(self, borrower: object) -> None:
        try:
            self._limiter.acquire_on_behalf_of_nowait(borrower)  # a free slot is had even where the wait is 0
        except anyio.WouldBlock:
            with anyio.move_on_after(self._wait):
                await self._limiter.acquire_on_behalf_of(borrower)
                return
            raise Busy(retry_after=max(1, round(self._wait))) from None


async def receive_upload(request: Request, service: Service, caller: Principal, release_id: str) -> Published:
    """Check what can be checked without the body, then stream it into counts."""
    media_type, gzip = _media_type(request), _gzip(request)
    await to_thread.run_sync(require_uploadable, service, caller, release_id)
    _require_fitting(request, service.settings.max_upload_bytes)
    slots: UploadSlots = request.app.state.upload_slots

    def work() -> Published:
        return publish(service, caller, release_id, _pull(request.stream()), media_type=media_type, gzip=gzip)

    published: Published = await slots.run(work)
    return published


def upload_media() -> dict[str, Any]:
    """The media types of an upload for the OpenAPI document."""
    return {media_type.value: {"schema": {"type": "string", "format": "binary"}} for media_type in MediaType}


def _pull(stream: AsyncIterator[bytes]) -> Iterator[bytes]:
    """The chunks of an asynchronous stream in a worker thread: the next one is read when the last one is counted."""
    while (chunk := from_thread.run(_next, stream)) is not None:
        if chunk:
            yield chunk


async def _next(stream: AsyncIterator[bytes]) -> bytes | None:
    return await anext(stream, None)


def _media_type(request: Request) -> MediaType:
    sent = request.headers.get("content-type", "").split(";")[0].strip().lower()
    try:
        return MediaType(sent)
    except ValueError:
        known = ", ".join(media_type.value for media_type in MediaType)
        raise UnsupportedMedia(f"Set Content-Type to what the file is: {known}.") from None


def _gzip(request: Request) -> bool:
    encoding = request.headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise UnsupportedMedia("Content-Encoding may be gzip, or left out.")
    return _ENCODINGS[encoding]


def _require_fitting(request: Request, most: int) -> None:
    """Refuse by its own word what is too large, before a byte is sent; the stream is counted all the same."""
    length = request.headers.get("content-length")
    if length is None:
        return
    if not length.isascii() or not length.isdigit():
        raise RefusedRequest("Content-Length must be a whole number.")
    if len(length) > 18 or int(length) > most:
        raise UploadTooLarge(Cap.BYTES, most)
