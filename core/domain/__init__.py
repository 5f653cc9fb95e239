"""Public attributes, and the grid over them: a product of axes, one for each attribute.

A kind of attribute is a class behind `core.domain.kind.AttributeKind`; `number` (`core.domain.domain.Attribute`) is the
only one. Nothing here may look at rows.
"""
