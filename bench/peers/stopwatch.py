"""Runs in a peer's environment: one measured call for each line of standard input; see bench/peers/timed.py.

`stopwatch.py SCRIPT OPTIONS`: SCRIPT has a function `prepare`, which gets OPTIONS, in JSON, as its arguments, and
returns the call. Each reply is a line of JSON: the seconds of CPU time of this process with all its threads, the
seconds on the clock, and what the call returned, a number by which the caller sees that the work was done.
"""

from __future__ import annotations

import json
import runpy
import sys
import time


def main() -> None:
    """Until standard input ends."""
    script, options = sys.argv[1], json.loads(sys.argv[2])
    call = runpy.run_path(script)["prepare"](**options)
    for _ in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        result = call()
        reply = [time.process_time() - cpu, time.perf_counter() - wall, result]
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
