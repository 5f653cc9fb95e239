"""Stage 2: questions to a published synopsis. Knows nothing of HTTP, of the database, or of who asks.

One file per question (`count`, `counts`, `marginal`, `quantiles`, `moments`, `clusters`, `scan`, `assign`, `synopsis`,
`rows`): its parameters, its effort, and how the result of the core query becomes the wire type of `rugnik.wire`.
`question` has the registry, `downloads` the answers that are taken away, `encoding` writes JSON, and `files` CSV,
Parquet and Arrow. A question needs NumPy, SciPy and orjson; `files` needs pyarrow, and is imported where it is used.

The service answers from here (`app.answers`), and so does a bundle, without a service (`app.offline`).

A new question is four files: the query in `core.queries`, the question here, the answer's type in `rugnik.wire`, and a
command in `app.cli.analyst`. `Client.ask` takes any answer type; a typed method of the client is a convenience.
"""
