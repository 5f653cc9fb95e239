"""Stage 2, the use cases: questions to a published synopsis, their answers and the cache. Knows nothing of HTTP."""
