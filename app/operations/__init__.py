"""Running the service: checks before the start, the server, logs and metrics, readiness, and fair thread pools.

Nothing here knows what a question or a release is; nothing here reads rows.
"""
