"""The commit that the working tree is, and the day, for logs of what was seen."""

import datetime
import subprocess

from heapsmith.model.errors import BadInput


def commit() -> str:
    """Return the commit that the working tree is; with a "+" if files differ from it."""
    head = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    if head.returncode != 0:
        raise BadInput("this is no clone of the repository; expected its root")
    changed = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
    return head.stdout.strip() + "+" * bool(changed)


def today() -> str:
    """Return the date in UTC."""
    return datetime.datetime.now(tz=datetime.UTC).date().isoformat()
