"""Benchmarks: the paper's table and our peers, side by side in one run.

`python -m bench` runs them all and writes bench/out/report.md with its plots; each module also runs alone. Times are
CPU seconds of one thread, so that whatever else the machine does falls on both sides of a ratio alike.
"""
