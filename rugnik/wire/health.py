"""Health: for the machines that watch over the service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rugnik.wire.base import Reply
from rugnik.wire.limits import one_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Health(Reply):
    """The service lives, or is ready."""

    status: Annotated[str, one_of("ok")]
