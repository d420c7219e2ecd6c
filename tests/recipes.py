"""The page docs/recipes.md, for tests that run its blocks."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "recipes.md"


def section(title: str, level: int = 2) -> str:
    """What stands below a title of this level, up to the next of this level or a higher one."""
    (_, text) = PAGE.read_text().split(f"\n{'#' * level} {title}\n")
    return re.split(rf"^#{{2,{level}}} ", text, maxsplit=1, flags=re.MULTILINE)[0]
