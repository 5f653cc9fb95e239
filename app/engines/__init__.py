"""Engines: count rows where they lie, in the curator's own process or on a cluster, so that only counts are sent.

The readers, the judgement of each row and the cells are those of an upload (`app.ingest`, `core.records`,
`core.counting`). Nothing here draws noise or knows the ledger, the database or the service's settings.
"""
