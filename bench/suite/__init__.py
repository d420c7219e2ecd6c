"""The benchmark: rows under every column, compared."""
