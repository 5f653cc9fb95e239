"""Stage 1, the use cases: datasets, orders, uploads, publication. Knows nothing of HTTP."""
