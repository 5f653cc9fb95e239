"""Everything that knows HTTP: routes, middleware, problems, negotiation, streams."""
