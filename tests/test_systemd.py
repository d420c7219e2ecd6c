"""A manager of systemd runs the units of docs/recipes.md: the drop-in, a canary among instances, and the way back."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from mounts import OWN_MOUNTS, WHY_NOT, everywhere_works
from recipes import section

from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import load

SECTION = section("A service of systemd")
JOB = """\
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
open(f"/run/user/0/ready.{os.getpid()}", "w").close()
while True:
    signal.pause()
"""
MANAGER = """
mount -t tmpfs none /run
mkdir -p /run/systemd/system home # without the first a manager says that the system has no systemd
export XDG_RUNTIME_DIR=/run/user/0 HOME=$PWD/home SYSTEMD_UNIT_PATH=$PWD/system:
mkdir -p "$XDG_RUNTIME_DIR"
/usr/lib/systemd/systemd --user --log-target=console --unit=basic.target > manager.log 2>&1 &
manager=$!
trap 'kill $manager; wait $manager' EXIT
ask() { systemctl --user "$@"; }
for n in $(seq 600); do
  case $(ask is-system-running 2>&1) in running|degraded) break ;; esac
  sleep .1
done
look() { # a job is started before it has its handler, and the signal of a stop would kill it
  for unit; do
    pid=$(ask show -P MainPID "$unit")
    until test -e "$XDG_RUNTIME_DIR/ready.$pid"; do sleep .1; done
    echo "$unit: $(grep -c libheap.so "/proc/$pid/maps" || true)"
  done
}
"""
DROP_IN = """
ask start job
look job
ask stop job
ls /run/user/0/job | sed 's/[0-9][0-9]*/PID/'
"""
CANARY = "ask daemon-reload; ask start job@1 job@2; look job@1 job@2\n"
BACK = "ask daemon-reload; ask restart job@2; look job@1 job@2\n"


@pytest.mark.thorough
@pytest.mark.skipif(not everywhere_works(), reason=WHY_NOT)
def test_units_start_with_the_library_and_go_back(tmp_path: Path, shell_environment: dict[str, str]) -> None:
    """As the manager of a user, in mounts of its own: what it says of /run is below /run/user there."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed (package systemd)")
    (tmp_path / "job.py").write_text(JOB)
    shutil.copy(library_of(load("default")), tmp_path / "libheap.so")
    units, canary = re.findall(r"^```sh\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
    canary, removed, back = canary.partition("rm -r ")
    script = MANAGER.join([units, DROP_IN]) + canary + CANARY + removed + back + BACK
    places = {
        "/srv/job.py": f"{tmp_path}/job.py",
        "/usr/local/lib/libheap.so": f"{tmp_path}/libheap.so",
        "/run/job/": "/run/user/0/job/",
    }
    for usual, own in places.items():
        assert usual in script
        script = script.replace(usual, own)
    done = subprocess.run(
        [*OWN_MOUNTS, "bash", "-eu", "-o", "pipefail", "-c", script],
        cwd=tmp_path,
        env=shell_environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr + (tmp_path / "manager.log").read_text()
    found = re.findall(r"^(job\S*): (\d+)$", done.stdout, re.MULTILINE)
    assert [(unit, int(count) > 0) for unit, count in found] == [
        *(("job", True), ("job@1", False), ("job@2", True)),
        *(("job@1", False), ("job@2", False)),
    ]
    assert "heap-PID.json\n" in done.stdout
