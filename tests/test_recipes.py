"""docs/recipes.md: its shell blocks run as they stand, and do what the page says of them."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from mounts import OWN_MOUNTS
from recipes import PAGE

from heapsmith.bench.programs.services import SERVICES
from heapsmith.bench.studies import services

COSTS = PAGE.parent / "lab" / "costs.md"
TOOLS = ("systemd-analyze", "redis-server", "redis-cli", "unshare", "musl-gcc")


def blocks() -> dict[str, list[str]]:
    """The shell blocks of the page, by the title of their section."""
    sections = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    return {text.partition("\n")[0]: re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S) for text in sections}


def why_not() -> str:
    """What this machine lacks for the blocks; empty if nothing."""
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    namespaces = ["unshare", "--map-root-user", "--mount", "--pid", "--fork", "true"]
    if not lacking and subprocess.run(namespaces, capture_output=True, check=False).returncode != 0:
        return "the system makes no user namespaces"
    return f"not installed: {', '.join(lacking)}" if lacking else ""


@pytest.mark.thorough
def test_the_shell_blocks_run(tmp_path: Path, shell_environment: dict[str, str]) -> None:
    if reason := why_not():
        pytest.skip(reason)
    found = blocks()
    work = tmp_path / "work"
    work.mkdir()
    said = {}
    for title, texts in found.items():
        for text in texts:
            done = subprocess.run(
                ["bash", "-eu", "-o", "pipefail", "-c", text],
                cwd=work,
                env=shell_environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            # systemd-analyze may complain of the machine's own units too
            complaints = [line for line in done.stderr.splitlines() if "systemd" not in title or "job" in line]
            assert (done.returncode, complaints) == (0, []), title
            said[title] = done.stdout
    assert len(said) == 8
    first, shipped, unit, container, alpine, machine, servers, environment_of_python = said.values()
    assert first.splitlines()[:2] == ["libheap.so", "True"]
    assert "sleep 5\ndefault " in first
    assert "c: written: BUILD.bazel, CMakeLists.txt, LICENSE, Makefile, README.md" in shipped
    assert unit == ""
    assert "libheap.so" in container.splitlines()
    assert "refills" in container
    assert alpine == "served\nserved\npreloaded.json:1\nstatic.json:1\n"
    assert int(machine) > 0
    assert "redis-server" in servers
    assert "default " in servers
    assert environment_of_python.strip() == str(work / "venv")


def test_the_figures_of_servers_are_those_measured() -> None:
    """Of each service that the tests run, in the laboratory's table; what the prose and the README say of them."""
    of = services.PART.read(services.Report)
    assert {row.service for row in of.rows} == SERVICES.keys()
    page = COSTS.read_text()
    assert f"{of.jvm_malloc_bytes / 2**20:.0f} MiB of malloc" in page
    served = PAGE.read_text().partition("\n| server |")[2].partition("\n\n")[0]
    assert len(re.findall(r"^\| [^-]", served, re.MULTILINE)) == len(of.rows)
    readme = " ".join((PAGE.parents[1] / "README.md").read_text().split())
    *most, worst = (
        f"{row.cpu.median:.2f}".removeprefix("0") for row in sorted(of.rows, key=lambda row: row.cpu.median)
    )
    peaks = sorted(f"{row.peak.median:.2f}" for row in of.rows)
    said = f"Of eight servers seven take {most[0]} to {most[-1]} of glibc's CPU time and node {worst}, "
    assert said + f"with peaks of {peaks[0].removeprefix('0')} to {peaks[-1]}" in readme
    assert (len(of.rows), max(of.rows, key=lambda row: row.cpu.median).service) == (8, "node")


BUILDAH = """
engine() { buildah --root "$PWD/images" --runroot "$PWD/run" --storage-driver vfs "$@"; }
base=$(engine from scratch)
folder=$(engine mount "$base")
for file in /bin/ls $(ldd /bin/ls | grep -o '/[^ ]*'); do cp --parents -L "$file" "$folder"; done
mkdir -p "$folder/usr/local/lib"
engine commit --quiet "$base" docker.io/library/debian:12
heapsmith build default -o libheap.so
engine bud --quiet --pull-never --isolation chroot --tag job .
job=$(engine from --pull-never job)
engine run --isolation chroot --env HEAPSMITH=stats=/stats.json "$job" /bin/ls /usr/local/lib > listed
cp "$(engine mount "$job")/stats.json" .
engine rm --all
"""


# What podman gives to processes by default, root without CAP_SYS_RESOURCE may not; crun takes no mixture of cgroups.
PODMAN = """
engine() {
  podman --root "$PWD/images" --runroot /run/own --storage-driver vfs \
    --cgroup-manager cgroupfs --events-backend none "$@"
}
mount -t tmpfs none /run # the path of its runroot must be short
umount -l /sys/fs/cgroup/unified 2> /dev/null || true
mkdir -p root/usr/local/lib out
for file in /bin/ls $(ldd /bin/ls | grep -o '/[^ ]*'); do cp --parents -L "$file" root; done
tar -C root -c . | engine import --quiet - docker.io/library/debian:12 > /dev/null
heapsmith build default -o libheap.so
engine build --quiet --pull=never --isolation chroot --tag job .
engine run --rm --cgroups disabled --network none --ulimit nofile=1000:1000 --ulimit nproc=1000:1000 \
  --volume "$PWD/out:/out" --env HEAPSMITH=stats=/out/stats.json job /bin/ls /usr/local/lib > listed
cp out/stats.json .
"""


@pytest.mark.parametrize(
    ("engine", "script"),
    [
        pytest.param("buildah", BUILDAH, marks=pytest.mark.thorough),
        pytest.param("podman", PODMAN, marks=pytest.mark.big),  # few systems let it run
    ],
)
def test_the_dockerfile_gives_an_image_its_library(
    tmp_path: Path, shell_environment: dict[str, str], engine: str, script: str
) -> None:
    """Over a small image in place of that of Debian: nothing is downloaded."""
    if shutil.which(engine) is None:
        pytest.skip(f"{engine} is not installed")
    if os.geteuid() != 0:
        pytest.skip("expected root, who may mount images without user namespaces")
    (dockerfile,) = re.findall(r"^```dockerfile\n(FROM debian.*?)^```$", PAGE.read_text(), re.M | re.S)
    (tmp_path / "Dockerfile").write_text(dockerfile)
    done = subprocess.run(
        [*OWN_MOUNTS * (engine == "podman"), "bash", "-eu", "-o", "pipefail", "-c", script],
        cwd=tmp_path,
        env=shell_environment | {"HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "listed").read_text() == "libheap.so\n"
    assert json.loads((tmp_path / "stats.json").read_text())["design"].startswith("default ")
