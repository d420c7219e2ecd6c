"""Predict: counts, misses, resident bytes, instructions and time of a design on a trace."""
