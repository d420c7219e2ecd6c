"""The advice by which pages go back to the OS: a word of every release policy that gives pages back (madvise(2))."""

from typing import Literal, get_args

Advice = Literal["dontneed", "free"]
ADVICES: tuple[str, ...] = get_args(Advice)
