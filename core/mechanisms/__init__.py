"""Noise: laws, exact samplers and their privacy loss."""
