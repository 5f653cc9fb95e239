"""Who may do what: roles, keys, sessions, quotas. Knows the ledger, not HTTP routes."""
