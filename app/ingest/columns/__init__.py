"""Columns: how the values of each kind of attribute are read from text, from JSON and from Arrow arrays.

One class for each kind (`converter.Converter`), and one table of them (`kinds.CONVERTERS`). A further kind is a class
and an entry. Every conversion is a function of one value: no result depends on another row, and no value raises.
"""
