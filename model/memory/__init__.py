"""Memory: the lines and pages that heap and program touch, and the hardware."""

from typing import Literal

Part = Literal["none", "ends", "pages", "all"]
"""Of a block, what the program touches."""
