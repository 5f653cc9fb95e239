"""Running the service: start, serve, logs and metrics, readiness, shares of the processor."""
