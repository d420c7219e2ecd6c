"""Servers with worker processes, and what takes the preloaded library away from these; each runs alone, in its folder.

Their files lie in services/NAME: job.sh starts the server, asks it, and ends it.
"""

import shutil
from importlib.resources import as_file, files
from pathlib import Path
from typing import NamedTuple


class Service(NamedTuple):
    """A server that gets requests.

    needs: programs that its script calls. plain, scrubbed: the argument of the script; with the latter `by` starts the
    process that works without the library. workers: names of that process.
    """

    needs: tuple[str, ...]
    plain: str
    scrubbed: str
    workers: tuple[str, ...]
    by: str


UNSET = "env -u LD_PRELOAD"
SERVICES = {
    "node": Service(("node",), "", "scrub", ("node",), "node"),
    "gunicorn": Service(("curl", "gunicorn"), "", UNSET, ("gunicorn", "python"), "bash"),
    "puma": Service(("curl", "puma"), "", "scrub", ("ruby3.1", "ruby", "puma"), "puma"),
    "nginx": Service(("curl", "nginx"), "", UNSET, ("nginx",), "bash"),
    "php-fpm": Service(("curl", "nginx", "php", "php-fpm8.2"), "no", "yes", ("php",), "sh"),
    "apache": Service(("curl", "apache2", "perl"), "PassEnv LD_PRELOAD", "", ("page.pl",), "apache2"),
    "postgresql": Service(("pg_ctlcluster", "psql", "setpriv"), "keep", "", ("postgres",), "pg_ctlcluster"),
    "jvm": Service(("java", "bsh"), "", UNSET, ("java",), "bash"),
}


def place(name: str, folder: Path) -> None:
    """Write the files of a service to a new folder."""
    with as_file(files("heapsmith.bench.programs") / "services") as kept:
        shutil.copytree(kept / name, folder)
        shutil.copy(kept / "ask.sh", folder)


def lacking(name: str, path: str) -> list[str]:
    """The programs that a service needs and `path` does not have."""
    return [one for one in SERVICES[name].needs if shutil.which(one, path=path) is None]
