"""Between the wire types of `rugnik.wire` and the values of the use cases: bodies into values, values into replies."""
