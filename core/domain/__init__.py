"""Public attributes, and the grid over them: a product of axes, one for each attribute. Nothing here may look at rows.

An attribute (`attribute.Attribute`) has a kind, one of `kinds.KINDS`. Everything asks the attribute: how many cells it
can have, which cell a value lies in, what a range of it means, and how a value is written.

To add a kind, write its module here and add its class to `kinds.KINDS`. Then write how files have its values
(`app.ingest.columns`), its words (`rugnik.wire.kinds`) and its class for pages (`app/dashboard/static/attribute.js`).
Tests compare these four tables.
"""
