"""What a process that holds raw rows must not do: leave its memory on a disk, or its files open to others."""

from __future__ import annotations

import ctypes
import os
import resource
import sys

_PR_SET_DUMPABLE = 4


def keep_files_private() -> None:
    """Whatever this process makes from now on can be read by its own user alone: files 0600, folders 0700."""
    os.umask(0o077)


def disable_core_dumps() -> None:
    """No core file of this process, neither by limit nor through a handler that a kernel pipes dumps to."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
