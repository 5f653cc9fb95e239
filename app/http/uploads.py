"""The body of an upload: an asynchronous stream on one side, a worker thread that counts on the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
from anyio import from_thread, to_thread
from fastapi import Request

from app.access.principal import Principal
from app.errors import Busy, RefusedRequest, TooSlow, UnsupportedMedia
from app.ingest.counts_stream import MEDIA_TYPE as COUNTS
from app.ingest.counts_stream import read_counts
from app.ingest.errors import Cap, UploadTooLarge
from app.ingest.formats import MediaType
from app.releases.counting import take_counts
from app.releases.reading import Release
from app.releases.uploading import Published, require_awaiting, require_uploadable, upload
from app.service import Service

_ENCODINGS = {"": False, "identity": False, "gzip": True}
_AGAIN = "Nothing was drawn: it may be repeated at no charge."
_HANDED_BYTES = 2**19  # given to the worker thread at once
_Result = TypeVar("_Result")


class UploadSlots:
    """As many uploads at once as settings allow, each in a thread of its own; others wait a little, then are told.

    One key has at most all slots but one, so that it cannot keep every other key out; where there is a single slot,
    it may have that.
    """

    def __init__(self, slots: int, wait_seconds: float) -> None:
        self._slots = anyio.CapacityLimiter(slots)
        self._share = max(1, slots - 1)
        self._shares: dict[str, anyio.CapacityLimiter] = {}
        self._wait = wait_seconds

    async def run(self, key_id: str, work: Callable[[], _Result]) -> _Result:
        """Run `work` in a thread once there is a slot for it and for its key."""
        share = self._shares.setdefault(key_id, anyio.CapacityLimiter(self._share))
        until = anyio.current_time() + self._wait
        async with (
            self._held(share, until, "This key has as many uploads at work as one key may have."),
            self._held(self._slots, until, "As many uploads are at work as this service takes at once."),
        ):
            return await to_thread.run_sync(work, limiter=anyio.CapacityLimiter(1))

    @asynccontextmanager
    async def _held(self, limiter: anyio.CapacityLimiter, until: float, reason: str) -> AsyncIterator[None]:
        borrower = object()
        try:
            limiter.acquire_on_behalf_of_nowait(borrower)  # a free slot is had even where the wait is 0
        except anyio.WouldBlock:
            with anyio.move_on_after(until - anyio.current_time()) as waiting:
                await limiter.acquire_on_behalf_of(borrower)
            if waiting.cancelled_caught:
                raise Busy(reason, retry_after=max(1, round(self._wait))) from None
        try:
            yield
        finally:
            limiter.release_on_behalf_of(borrower)


class Pace:
    """How fast an upload comes: TooSlow where it sends nothing for a while, or too little over such a while.

    What counts is the time that the service waits for the client, not the time that it takes to count rows: so what is
    refused here depends on the network and never on the rows.
    """

    def __init__(self, stream: AsyncIterator[bytes], *, idle_seconds: float, bytes_per_second: int) -> None:
        self._stream = stream
        self._idle_seconds = idle_seconds
        self._bytes_per_second = bytes_per_second
        self._waited = 0.0
        self._received = 0

    async def next(self) -> bytes | None:
        """The next chunks of the body, joined to about _HANDED_BYTES; None at its end.

        Each hand-over from the event loop to a thread costs as much as receiving several chunks.
        """
        gathered: list[bytes] = []
        size = 0
        while size < _HANDED_BYTES and (chunk := await self._receive()) is not None:
            gathered.append(chunk)
            size += len(chunk)
        return b"".join(gathered) if gathered else None

    async def _receive(self) -> bytes | None:
        """The next chunk of the body, None at its end."""
        started = anyio.current_time()
        with anyio.move_on_after(self._idle_seconds) as waiting:
            chunk = await anext(self._stream, None)
        if waiting.cancelled_caught:
            raise TooSlow(f"The upload sent nothing for {self._idle_seconds:g} s. {_AGAIN}")
        self._waited += anyio.current_time() - started
        self._received += len(chunk or b"")
        if chunk is not None and self._waited >= self._idle_seconds:
            if self._received < self._bytes_per_second * self._waited:
                raise TooSlow(f"The upload sent less than {self._bytes_per_second:,} bytes a second. {_AGAIN}")
            self._waited, self._received = 0.0, 0
        return chunk

    def chunks(self) -> Iterator[bytes]:
        """The same chunks in a worker thread: the next one is read when the last one is counted."""
        while (chunk := from_thread.run(self.next)) is not None:
            if chunk:
                yield chunk


async def receive_upload(request: Request, service: Service, caller: Principal, release_id: str) -> Published:
    """Check what can be checked without the body, then stream it into counts."""
    media_type, gzip = _media_type(request), _gzip(request)
    await to_thread.run_sync(require_uploadable, service, caller, release_id)
    return await _received(
        request,
        service,
        caller,
        lambda chunks: upload(service, caller, release_id, chunks, media_type=media_type, gzip=gzip),
    )


async def receive_counts(request: Request, service: Service, caller: Principal, release_id: str) -> Release:
    """Check what can be checked without the body, then read the counts of one step and draw its noise."""
    if _content_type(request) != COUNTS:
        raise UnsupportedMedia(f"Set Content-Type to {COUNTS}; rows go to PUT /v1/releases/{{id}}/records.")
    await to_thread.run_sync(require_awaiting, service, caller, release_id)

    def work(chunks: Iterator[bytes]) -> Release:
        sent = read_counts(chunks, service.settings.limits)
        return take_counts(service, caller, release_id, sent)

    return await _received(request, service, caller, work)


async def _received(
    request: Request, service: Service, caller: Principal, work: Callable[[Iterator[bytes]], _Result]
) -> _Result:
    """What `work` makes of the body's chunks, in a thread, once there is a slot for it."""
    settings = service.settings
    _require_fitting(request, settings.max_upload_bytes)
    slots: UploadSlots = request.app.state.upload_slots
    pace = Pace(
        request.stream(),
        idle_seconds=settings.upload_idle_seconds,
        bytes_per_second=settings.upload_bytes_per_second,
    )

    return await slots.run(caller.id, lambda: work(pace.chunks()))


def upload_media() -> dict[str, Any]:
    """The media types of an upload for the OpenAPI document."""
    return {media_type.value: {"schema": {"type": "string", "format": "binary"}} for media_type in MediaType}


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").split(";")[0].strip().lower()


def _media_type(request: Request) -> MediaType:
    try:
        return MediaType(_content_type(request))
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
