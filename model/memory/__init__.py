"""Memory: the lines and pages that a heap and its program touch, and the hardware that serves them."""
