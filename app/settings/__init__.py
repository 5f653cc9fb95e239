"""Settings: every RUGNIK_ variable; the database URL and secret files, whose values must not appear in messages."""
