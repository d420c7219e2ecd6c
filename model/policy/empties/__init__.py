"""Empty slabs: which pool keeps them (docs/machine.md section 6)."""
