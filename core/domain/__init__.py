"""Public attributes, and the grid over them: a product of axes, one for each attribute. Nothing here may look at rows.

An attribute (`attribute.Attribute`) has a kind: `number`, `integer`, `date`, `datetime` or `category`. To add a kind,
write its module and add its class to `kinds.KINDS`. Everything else asks the attribute: how many cells it can have,
which cell a value lies in, what a range of it means, and how a value is written.
"""
