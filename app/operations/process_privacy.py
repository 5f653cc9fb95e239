"""Process settings for a service that has raw rows in memory: private files (umask) and no core dumps."""

from __future__ import annotations

import ctypes
import os
import resource
import sys

_PR_SET_DUMPABLE = 4


def keep_files_private() -> None:
    """Set the umask: files of this process get mode 0600 and folders 0700 from now on."""
    os.umask(0o077)


def disable_core_dumps() -> None:
    """Prevent core dumps: the size limit is 0, and on Linux the process is not dumpable.

    The limit alone does not stop a kernel that pipes dumps to a handler program.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
