"""Tools that make traces of traces: each lets events through, and one place numbers and writes them."""
