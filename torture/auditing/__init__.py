"""What `torture.audit` is made of: cases, guesses from a release, correlations, and pairs of uploads."""
