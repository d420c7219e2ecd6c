"""What traces tell of the settings of other mallocs (docs/peers.md)."""
