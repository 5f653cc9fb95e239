"""A server that dies at a step of signing: `python -m tests.support.processes.mortal_log STEP PORT`.

It lives until the file that ARMED_FILE names is there. Then the next entry is its last: the process sends itself
SIGKILL, as a power cut would.
"""

from __future__ import annotations

import os
import sys
from functools import wraps
from pathlib import Path
from typing import Any

import uvicorn

from app.ledger.witness import Witness
from app.log import checkpoints, cosigning
from app.log.signing import Log
from app.main import create_app
from app.settings.settings import Settings
from tests.support.processes.mortal import die

# The steps of an append: commit, sign, witness file, witnesses, their signatures, the sealed checkpoint.
STEPS = {
    "before the commit": (Witness, "moving", "before"),
    "once it is committed": (Log, "signed", "before"),
    "once it is signed": (Witness, "_replace", "before"),
    "once the witness file has it": (Witness, "_replace", "after"),
    "before the witnesses are asked": (cosigning, "collect", "before"),
    "once the witnesses signed": (cosigning, "collect", "after"),
    "once their signatures are stored": (cosigning, "_keep", "after"),
    "once the checkpoint is sealed": (checkpoints, "store", "after"),
}


def arm(step: str) -> None:
    """Set the trap."""
    holder, name, moment = STEPS[step]
    real: Any = getattr(holder, name)
    armed = Path(os.environ["ARMED_FILE"])

    @wraps(real)
    def mortal(*args: Any, **options: Any) -> Any:
        if not armed.exists():
            return real(*args, **options)
        if moment == "after":
            real(*args, **options)
        return die()

    setattr(holder, name, mortal)


if __name__ == "__main__":
    arm(sys.argv[1])
    uvicorn.run(create_app(Settings()), port=int(sys.argv[2]), log_config=None)
