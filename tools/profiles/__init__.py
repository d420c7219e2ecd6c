"""Profiles that other viewers read: one table of weighted stacks, and a module per format."""
