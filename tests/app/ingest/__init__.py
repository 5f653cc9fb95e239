"""Ingest, module by module."""
