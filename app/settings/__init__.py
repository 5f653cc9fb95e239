"""Settings: every RUGNIK_ variable, and the two kinds of value that need care (database address, secret files)."""
