"""The client for programs that use asyncio: `from rugnik import AsyncClient`.

Every module but `waiting` is made from the module of the same name in `rugnik`, by `python -m tools.asynchronous`:
see docs/decisions/0024. Edit those modules, and make these anew.
"""
