"""Traces from the files of other tools: a module per format, one builder (docs/other-tools.md)."""
