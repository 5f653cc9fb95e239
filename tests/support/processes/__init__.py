"""Real processes: the server and the demo as a person runs them, and servers that die or lose patience on purpose."""
