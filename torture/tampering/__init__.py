"""What `torture.tamper` is made of: a ledger, the edits of an attacker, and how they are judged."""
