"""What heap profiles have in common: sums over the blocks of each site."""

from typing import NamedTuple


class Site(NamedTuple):
    """Sums over the blocks that one site, or one call stack, asked for."""

    births: float
    bytes: float  # of all births
    live: float  # blocks that live at one time, on average or at the end


class Profile(NamedTuple):
    """The sites of a profile, and what it does not tell."""

    sites: list[Site]
    assumed: list[str]
