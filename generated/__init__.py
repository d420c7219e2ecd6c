"""Committed designs with their emitted C, byte-identical when regenerated (package data)."""
