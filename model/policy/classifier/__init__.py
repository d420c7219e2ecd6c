"""Classifiers: how free() finds a block's class (docs/machine.md section 1)."""
