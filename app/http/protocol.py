"""The limits of one connection, below the application: what a client can cost before its request is understood.

uvicorn reads heads of any length, waits for ever for the rest of a head and for a client to read its reply, and accepts
connections until the process has no file left. `LimitedProtocol` bounds each of these. It has no rule for bodies:
`app.http.middleware.body_limit` has those of JSON and forms, `app.http.uploads` those of rows.

    head too long                        431, closed
    head not whole in HEAD_SECONDS       408, closed
    reply not read for WRITE_SECONDS     aborted
    body sent on after its reply         read and thrown away for REST_SECONDS, then closed
    more connections than allowed        the one that has waited longest for its client is closed; 503 if none waits

A connection that the service works for, because it computes an answer or counts rows, is never closed from here.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.errors import Busy, HeadTooLarge, RefusedRequest, TooSlow
from app.http import problems

MAX_HEAD_BYTES = 2**15  # request line and header fields; a browser's cookies and a key take some hundred bytes
FIELD_BYTES = 32  # counted for each field on top of its text, for what a field costs in memory, as HTTP/2 counts
HEAD_SECONDS = 10.0
WRITE_SECONDS = 60.0
REST_SECONDS = 30.0
RETRY_SECONDS = 5  # in the reply to a connection that is one too many


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits. uvicorn's `limit_concurrency` is the number of connections allowed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._max_connections = self.limit_concurrency
        self.limit_concurrency = None  # uvicorn itself would refuse requests with it, in plain text
        self._unused_bytes = 0  # received since the parser last had something to show for them
        self._head_bytes = 0
        self._body_open = False  # a head is read, and the end of its body is not
        self._read_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._waiting_since = 0.0  # when the client's turn began, where it is the client's turn

    @property
    def _working(self) -> bool:
        """Whether the service has to do the next step: a request is whole, or its rows are being counted."""
        unanswered = self.cycle is not None and not self.cycle.response_complete
        # Rows are PUT; `app.http.uploads` ends those that come too slowly.
        readable = not self._body_open or self.scope["method"] == "PUT"
        return unanswered and readable and not self.flow.write_paused

    # What the transport reports.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Make room for one more connection, or refuse it."""
        super().connection_made(transport)
        self._client_turn()
        if self._max_connections is not None and len(self.connections) > self._max_connections:
            others = self.connections - {self}
            waiting = [other for other in others if isinstance(other, LimitedProtocol) and not other._working]
            if not waiting:
                self._refuse(Busy("As many connections are open as this service takes.", retry_after=RETRY_SECONDS))
                return
            longest = min(waiting, key=lambda other: other._waiting_since)
            self.connections.discard(longest)
            longest.transport.abort()
        self._limit_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave no timer behind."""
        self._stop_read_timer()
        self._stop_write_timer()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse, unless it becomes too much without an end."""
        self._unused_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._unused_bytes > MAX_HEAD_BYTES:
            self._refuse(_head_too_large())
            return
        self._limit_reading()

    def pause_writing(self) -> None:
        """The client reads too slowly: from now on it has WRITE_SECONDS to take some of the reply."""
        super().pause_writing()
        self._client_turn()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        self._stop_write_timer()

    # What the parser reports.

    def on_message_begin(self) -> None:
        """A new head."""
        super().on_message_begin()
        self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        """A part of the address."""
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header field, or one of a trailer."""
        self._count_head(len(name) + len(value) + FIELD_BYTES)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._progress()
        self._body_open = True
        self._client_turn()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._unused_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._progress()
        self._body_open = False
        super().on_message_complete()
        if self.cycle.response_complete and self.timeout_keep_alive_task is None:
            wait, handler = self.timeout_keep_alive, self.timeout_keep_alive_handler
            self.timeout_keep_alive_task = self.loop.call_later(wait, handler)

    # What uvicorn does, with an end.

    def on_response_complete(self) -> None:
        """The reply is written; the rest of a body that was not needed is read for a while."""
        super().on_response_complete()
        self._client_turn()
        if self.transport.is_closing():
            self._limit_closing()
        else:
            self._limit_reading()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing was asked for a while."""
        super().timeout_keep_alive_handler()
        self._limit_closing()

    def send_400_response(self, _msg: str) -> None:
        """What the parser refuses: a head that is too large, or something that is not HTTP."""
        too_large = self._head_bytes > MAX_HEAD_BYTES
        self._refuse(_head_too_large() if too_large else RefusedRequest("This is not a request of HTTP/1.1."))

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing: whoever asks for a WebSocket is answered as if they had not, and fills no log."""

    # Limits.

    def _client_turn(self) -> None:
        self._waiting_since = self.loop.time()

    def _count_head(self, count: int) -> None:
        self._head_bytes += count
        if self._head_bytes > MAX_HEAD_BYTES:
            raise _head_too_large()  # the parser stops, and uvicorn calls send_400_response

    def _progress(self) -> None:
        self._unused_bytes = 0
        self._stop_read_timer()

    def _limit_reading(self) -> None:
        """Give the client a time for what it has to send: a head, or the rest of a body that has its reply."""
        answered = self.cycle is None or self.cycle.response_complete
        if self._read_timer is not None or not answered:
            return
        if self._body_open:
            self._read_timer = self.loop.call_later(REST_SECONDS, self._close)
        elif self._unused_bytes or self.cycle is None:
            self._read_timer = self.loop.call_later(HEAD_SECONDS, self._head_overdue)

    def _head_overdue(self) -> None:
        if self._unused_bytes:
            self._refuse(TooSlow(f"The head of the request was not whole within {HEAD_SECONDS:g} s. Send it again."))
        else:
            self._close()

    def _refuse(self, error: Exception) -> None:
        """Answer with a problem and close; only close where a reply to an earlier request is under way."""
        alone = self.cycle is None or not self.cycle.response_started or self.cycle.response_complete
        if alone and not self.pipeline:
            response = problems.response_to(error)
            status = HTTPStatus(response.status_code)
            lines = [f"HTTP/1.1 {status} {status.phrase}".encode()]
            fields = [*self.server_state.default_headers, *response.raw_headers, (b"connection", b"close")]
            lines += [name + b": " + value for name, value in fields]
            self.transport.write(b"\r\n".join([*lines, b"", bytes(response.body)]))
        self._close()

    def _close(self) -> None:
        self.transport.close()
        self._limit_closing()

    def _limit_closing(self) -> None:
        """A transport that closes still waits for its buffer to be read."""
        if self._write_timer is None and self.transport.get_write_buffer_size():
            self._write_timer = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


def _head_too_large() -> HeadTooLarge:
    return HeadTooLarge(f"A request line and its header fields have at most {MAX_HEAD_BYTES:,} bytes together.")
