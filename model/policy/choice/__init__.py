"""Slab choice: which slab of a class serves a refill (docs/machine.md section 5)."""
