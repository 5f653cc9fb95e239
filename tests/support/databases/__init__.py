"""Ledgers to examine, and databases that are migrated or lost while they are in use."""
