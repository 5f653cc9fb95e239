"""The HTTP server of a witness: POST /add-checkpoint (C2SP tlog-witness), and GET / with public facts.

It runs on uvicorn like the service, because `LimitedProtocol` already bounds heads, slow clients and connections; the
standard library's server starts a thread for each connection, without end.
"""

from __future__ import annotations

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.http.protocol import LimitedProtocol
from app.witnessing.witness import DamagedState, Witness
from core.log.witnessing import Refused

MAX_BODY_BYTES = 2**16  # 63 hashes and a note with many signatures
BODY_SECONDS = 10.0
MAX_CONNECTIONS = 200
_FAILED = "This witness cannot sign now: its operator has to look at its state folder.\n"


def witness_app(witness: Witness) -> Starlette:
    """The application of one witness. Its replies are plain text, as the protocol has them."""

    async def add_checkpoint(request: Request) -> Response:
        try:
            body = await _body(request)
            lines = await run_in_threadpool(witness.add_checkpoint, body)
        except Refused as refused:
            # Not `media_type`: Starlette would add a charset to it, and the protocol has none.
            return Response(refused.text, refused.status, headers={"Content-Type": refused.media_type})
        except (DamagedState, OSError):
            return PlainTextResponse(_FAILED, 503)
        return PlainTextResponse(lines)

    async def facts(_request: Request) -> Response:
        try:
            sizes = await run_in_threadpool(witness.sizes)
        except (DamagedState, OSError):
            return PlainTextResponse(_FAILED, 503)
        logs = "".join(f"{size} {origin}\n" for origin, size in sizes.items())
        return PlainTextResponse(f"{witness.key.verifier}\n\n{logs}")

    return Starlette(
        routes=[
            Route("/add-checkpoint", add_checkpoint, methods=["POST"]),
            Route("/", facts),
            Route("/healthz", facts),
        ]
    )


def serve_witness(witness: Witness, *, host: str, port: int) -> None:
    """Serve until a stop signal."""
    uvicorn.run(
        witness_app(witness),
        host=host,
        port=port,
        access_log=False,
        server_header=False,
        log_level="warning",
        http=LimitedProtocol,
        ws="none",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=5,
    )


async def _body(request: Request) -> bytes:
    """The whole body; Refused where it is too large, comes too slowly or ends early."""
    body = bytearray()
    try:
        with anyio.fail_after(BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY_BYTES:
                    raise Refused(413, f"A submission has at most {MAX_BODY_BYTES} bytes.\n")
    except TimeoutError:
        raise Refused(408, "The body came too slowly.\n") from None
    except ClientDisconnect:
        raise Refused(400, "The body ended early.\n") from None
    return bytes(body)
