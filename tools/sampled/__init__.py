"""Samples of a live heap (docs/live.md): read from a process or a file, and what they stand for."""
