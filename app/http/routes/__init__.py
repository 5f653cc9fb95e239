"""HTTP: one router per noun, each thin; signatures show who may call."""
