"""Tests of app.ingest, one file for each module."""
