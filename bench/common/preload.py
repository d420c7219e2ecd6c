"""How LD_PRELOAD names a library whose path has characters that mean something there: by a link to it."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from heapsmith.model.cache_dir import cache_dir
from heapsmith.model.errors import Missing
from heapsmith.model.files import staged

SPECIAL = re.compile(r"[ :$]")
"""ld.so(8): spaces and colons separate names, a dollar sign begins a word that the loader replaces."""


def preload(libraries: list[str], environment: Mapping[str, str]) -> str:
    """The LD_PRELOAD of these names, in front of what the environment preloads already."""
    return ":".join([*libraries, *filter(None, [environment.get("LD_PRELOAD", "")])])


def preloadable(library: Path) -> str:
    """A path by which LD_PRELOAD can name the library: its own, or that of a link in a folder of this user's.

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
            return str(_link(folder / name, target))
    raise Missing(f"{target}: LD_PRELOAD takes no path with ' ', ':' or '$' in it; for a link: {'; '.join(tried)}")


def _folders() -> Iterator[Path]:
    """Where links may be, best first."""
    yield cache_dir() / "links"
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        yield Path(runtime) / "heapsmith"
    yield Path("/tmp") / f"heapsmith-{os.geteuid()}"


def _why_not_ours(folder: Path) -> str | None:
    """Make the folder if it is absent; why it cannot be used: what this user loads only this user may change."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
    except OSError as error:
        return error.strerror
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o022:
        return "is not a directory that this user alone can write to"
    return None


def _link(link: Path, target: str) -> Path:
    """The link, made unless it is there; any number of processes may ask at once."""
    if not link.is_symlink():
        with staged(link, Missing) as made:
            made.symlink_to(target)
    return link
