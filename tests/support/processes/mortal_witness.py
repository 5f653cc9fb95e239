"""A witness that dies at a chosen step: `python -m tests.support.processes.mortal_witness STEP witness --key …`.

The process sends itself SIGKILL, as a power cut would.
"""

from __future__ import annotations

import sys
from pathlib import Path

from app.cli import main
from app.witnessing import witness
from tests.support.processes.mortal import after, before

STEPS = ["before the state is written", "before the state is in place", "once the state is written"]

if __name__ == "__main__":
    step = STEPS.index(sys.argv.pop(1))
    if step == 0:
        before(witness, "replace_file")
    elif step == 1:
        before(Path, "replace")
    else:
        after(witness, "replace_file")
    main()
