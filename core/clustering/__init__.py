"""Placing k centres on a noisy histogram: k-means, the mixture model and its sampler, what noise leaves certain."""
