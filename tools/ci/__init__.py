"""Judgements for continuous integration: a baseline of a program, and reports in the formats of its services."""
