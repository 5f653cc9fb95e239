"""Alembic migrations: every database, the tests' included, is built by running them."""
