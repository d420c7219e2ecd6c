"""What runs in mounts of its own, so that it changes nothing of the machine's."""

import os
import subprocess
from functools import cache

OWN_MOUNTS = ("unshare", "--mount", "--propagation", "private")


@cache
def everywhere_works() -> bool:
    """Whether this process may make a mount namespace, and mount there: root of a container may not."""
    words = [*OWN_MOUNTS, "mount", "-t", "tmpfs", "none", "/run"]
    return os.geteuid() == 0 and subprocess.run(words, check=False, capture_output=True).returncode == 0


WHY_NOT = "expected root, who may make mount namespaces"
