"""Stage 2, the use cases: questions to a published synopsis. Knows nothing of HTTP.

One file per question (`count`, `counts`, `marginal`, `quantiles`, `moments`, `clusters`, `scan`, `assign`, `synopsis`,
`rows`): its parameters, its effort, and how the result of the core query becomes the wire type of `rugnik.wire`.
`question` has the registry, `encoding` writes JSON, `answers` caches and stores, `long_answers`
computes in worker processes (`answer_process` is the inside of one), `files` writes CSV, Parquet and Arrow.

A new question is four files: the query in `core.queries`, the question here, the answer's type in `rugnik.wire`, and a
command in `app.cli.analyst`. `Client.ask` takes any answer type; a typed method of the client is a convenience.
"""
