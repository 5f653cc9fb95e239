"""What rugnik promises, each promise with lines to break and the tests that have to notice."""

from __future__ import annotations

from torture.broken import access_and_traces, ledger_and_log, noise_and_rows

PROMISES = (*noise_and_rows.PROMISES, *ledger_and_log.PROMISES, *access_and_traces.PROMISES)
