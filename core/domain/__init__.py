"""Public attributes, and the grid over them."""
