"""Noise: its law (what everybody may know), and apart from it the exact samplers (for `core.release` alone)."""
