"""Confidence intervals that follow from the known noise."""
