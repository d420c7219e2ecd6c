"""Fronts: where a thread keeps the free blocks of a class (docs/machine.md section 4)."""
