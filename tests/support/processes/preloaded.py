"""All that `rugnik serve` imports on its way to the first answer; see tests/support/processes/warm.py."""

from __future__ import annotations

import uvicorn.lifespan.on
import uvicorn.loops.auto
import uvicorn.protocols.http.httptools_impl

import app.cli.serve
import app.main
import app.operations.server

__all__ = ["app", "uvicorn"]
