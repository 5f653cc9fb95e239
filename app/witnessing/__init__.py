"""Witnesses of signed logs: running one, asking others for their signatures, and following a log as an auditor.

A witness signs the checkpoints of a log only while the log grows and nothing in it changes. `core.log` has the formats
and the decisions as values; this room adds files and requests. Nothing here knows the service's database. The HTTP
server of a witness is `app.http.witness_server`.
"""
