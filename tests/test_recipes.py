"""docs/recipes.md: its shell blocks run as they stand, and do what the page says of them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent / "docs" / "recipes.md"
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
