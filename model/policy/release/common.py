"""The advice (madvise(2)) by which a release policy gives pages back to the OS."""

from typing import Literal, get_args

Advice = Literal["dontneed", "free"]
ADVICES: tuple[str, ...] = get_args(Advice)
