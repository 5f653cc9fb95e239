"""The ledger as values: entries, the hash chain, and the balances that follow from them."""
