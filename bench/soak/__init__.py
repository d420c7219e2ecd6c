"""Long runs: whether memory grows without bound, and how heaps age."""
