"""The epsilon ledger in the database: book, replay, verification, history and the witness file."""
