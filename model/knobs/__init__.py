"""What traces tell of the settings of other mallocs (docs/compare.md)."""
