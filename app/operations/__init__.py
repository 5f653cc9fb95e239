"""Running the service: checks before the start, the server, logs and metrics, readiness, fair
lanes for work, and worker processes.

Nothing here knows what a question or a release is; nothing here reads rows.
"""
