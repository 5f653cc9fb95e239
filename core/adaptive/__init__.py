"""The adaptive rule: cells follow the noisy counts, small where rows are many. The proof: `core.adaptive.release`."""
