"""`python -m app.cli`: the same as `rugnik`."""

from app.cli import main

main()
