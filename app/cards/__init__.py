"""The card of a release: what it is, who made it, whom it protects and how; and the same in other people's formats.

Everything here is a pure function of what is public and on record. Nothing here reads a table, a clock or a row:
`app.releases.cards` does the former.
"""
