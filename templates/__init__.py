"""Jinja templates, one per emitted file and one include per policy (package data)."""
