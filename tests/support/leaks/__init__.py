"""Rows that can be recognised anywhere, and everything that a database holds."""
