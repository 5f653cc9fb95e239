"""Benchmarks: rugnik beside the paper's table and beside comparable libraries, measured in the same run.

`python -m bench` runs them all and writes bench/out/report.md with its plots; each module also runs alone. Times are
CPU seconds of one thread, so that other load on the machine affects both sides of a ratio equally.
"""
