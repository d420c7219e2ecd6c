"""Gives LD_PRELOAD a path without special characters for any library, by a link if needed."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from heapsmith.model.errors import Missing
from heapsmith.model.files import cache_dir, staged

SPECIAL = re.compile(r"[ :$]")
"""ld.so(8): spaces and colons separate names; a dollar sign begins a token that is replaced."""


def preload(libraries: list[str], environment: Mapping[str, str]) -> str:
    """The value of LD_PRELOAD: these names, then the names in the environment's LD_PRELOAD."""
    return ":".join([*libraries, *filter(None, [environment.get("LD_PRELOAD", "")])])


def preloadable(library: Path) -> str:
    """A path of the library for LD_PRELOAD: its own, or a link in a folder of this user.

    Raises Missing if there is no place for the link.
    """
    target = str(library.absolute())
    if not SPECIAL.search(target):
        return target
    name = f"{hashlib.sha256(os.fsencode(target)).hexdigest()[:16]}-{re.sub(r'[^A-Za-z0-9._-]', '_', library.name)}"
    tried = []
    for folder in _folders():
        if SPECIAL.search(str(folder)):
            tried.append(f"{folder} has such characters too")
        elif reason := _why_not_ours(folder):
            tried.append(f"{folder}: {reason}")
        else:
            link = folder / name
            if not link.is_symlink():  # several processes may make it at once
                with staged(link, Missing) as made:
                    made.symlink_to(target)
            return str(link)
    raise Missing(f"{target}: LD_PRELOAD takes no path with ' ', ':' or '$' in it; for a link: {'; '.join(tried)}")


def _folders() -> Iterator[Path]:
    """The folders for links, best first."""
    yield cache_dir() / "links"
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        yield Path(runtime) / "heapsmith"
    yield Path("/tmp") / f"heapsmith-{os.geteuid()}"


def _why_not_ours(folder: Path) -> str | None:
    """Create the folder if absent; the reason if other users could change its links, else None."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
    except OSError as error:
        return error.strerror
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o022:
        return "is not a directory that this user alone can write to"
    return None
