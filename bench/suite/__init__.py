"""The benchmark: its rows, columns and results."""
