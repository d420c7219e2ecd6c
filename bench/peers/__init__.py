"""The mallocs to compare with: how each is found, built and preloaded."""
