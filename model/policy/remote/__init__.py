"""Remote frees: where a block freed by another thread goes (docs/machine.md section 7)."""
