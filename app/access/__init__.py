"""Who may do what: permissions, keys, sessions, quotas. Knows the ledger and nothing of HTTP (`app.http.callers`)."""
