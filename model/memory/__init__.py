"""Memory: the lines and pages that heap and program touch, and the hardware."""
