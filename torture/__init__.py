"""Long trials of what rugnik promises. Each part shows its progress, prints a table of what held, and has an exit code.

`make torture` runs all parts, `make torture ONLY=mutants` one of them. What runs here in minutes or hours has a fast
version in `tests/`. A part is a module with a docstring, which says what it tries, and a function `run` that returns
`console.Result`s.
"""
