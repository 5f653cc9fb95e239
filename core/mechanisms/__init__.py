"""Noise: its public law, and apart from it the exact samplers, which no question may import."""
