"""Traces as files of other tools: a module per format (docs/other-tools.md)."""
