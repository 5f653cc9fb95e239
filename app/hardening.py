"""What a process that holds raw rows must not do: leave its memory on a disk."""

from __future__ import annotations

import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4


def disable_core_dumps() -> None:
    """No core file of this process, neither by limit nor through a handler that a kernel pipes dumps to."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
