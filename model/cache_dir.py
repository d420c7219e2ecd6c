"""The place of files that can be rebuilt: compiled kernels, tools, libraries."""

import os
import pwd
from pathlib import Path

from heapsmith.model.errors import Missing


def cache_dir() -> Path:
    """Return `$XDG_CACHE_HOME/heapsmith` or `~/.cache/heapsmith` (XDG) without creating it.

    Raises Missing for a user without a home.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    if base.startswith("/"):
        return Path(base) / "heapsmith"
    try:
        home = os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise Missing(f"user {os.getuid()} has no home directory: set HOME or XDG_CACHE_HOME") from None
    return Path(home) / ".cache" / "heapsmith"
