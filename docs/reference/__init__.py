"""Writes the generated parts of docs/http.md, docs/python.md and docs/cli.md.

`python -m docs.reference` rewrites the three pages; `make docs` does the same before it builds the site
(`docs/reference/hooks.py`). Each page begins with text written by hand. What follows the marker line is generated from
the OpenAPI document, from the docstrings of the package `rugnik`, and from the commands of the `rugnik` tool. The
result depends on the sources alone: not on the width of a terminal, the machine or the day.
"""
