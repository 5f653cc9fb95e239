"""Noise: its law (what everybody may know), and apart from it the exact samplers (for releases; no question may import them)."""
