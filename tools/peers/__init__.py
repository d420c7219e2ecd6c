"""The mallocs to compare with: found by name, and preloaded."""
