"""Bundles: a release as one file, `x.rugnik`, that outlives the service.

`archive` writes and reads the ZIP, `bundle` knows its members, `readme` is the text that explains them to a person.
Standard library and `core` only: a bundle is read where nothing of the service is installed.
"""
