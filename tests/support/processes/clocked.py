"""A server whose clock is moved: `python -m tests.support.processes.clocked PORT`, settings by environment.

It is ahead of the machine's clock by as many seconds as the file that CLOCK_FILE names says.
"""

from __future__ import annotations

import os
import sys
from datetime import datetime, timedelta
from pathlib import Path

import uvicorn

from app.main import create_app
from app.service import utc_now
from app.settings.settings import Settings

_FILE = Path(os.environ["CLOCK_FILE"])


def clock() -> datetime:
    """The time that this service is told."""
    return utc_now() + timedelta(seconds=int(_FILE.read_text()))


if __name__ == "__main__":
    uvicorn.run(create_app(Settings(), clock), port=int(sys.argv[1]), log_config=None)
