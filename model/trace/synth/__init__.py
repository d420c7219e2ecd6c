"""Synthetic traces: what a trace or a heap profile says of a program as a distribution, and traces drawn from it."""
