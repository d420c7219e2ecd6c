"""Page release: when pages go back to the OS (docs/machine.md sections 6 and 8)."""
