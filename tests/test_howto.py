"""docs/howto: the shell blocks of each page run as they stand, and print the lines that the page shows below them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import complaint

PAGES = sorted((Path(__file__).resolve().parent.parent / "docs" / "howto").glob("*.md"))
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOOLS = ("gcc", "perl")


def missing(page: str, said: dict[int, str]) -> list[str]:
    """The lines that a page shows, of which the commands before them did not print each word.

    Words, because a table breaks its columns where a time is long.
    """
    lines, output = [], set[str]()
    for number, (kind, text) in enumerate(BLOCK.findall(page)):
        if kind == "sh":
            output = set(said[number].split())
        else:
            lines += [line for line in text.strip().splitlines() if not output.issuperset(line.split())]
    return lines


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path, shell_environment: dict[str, str]) -> None:
    if lacking := [tool for tool in TOOLS if shutil.which(tool) is None]:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    work = tmp_path / "a folder"
    work.mkdir()
    said = {}
    for number, (kind, text) in enumerate(BLOCK.findall(page.read_text())):
        if kind == "sh":
            command = ["bash", "-eu", "-o", "pipefail", "-c", f"exec 2>&1\n{text}"]
            done = subprocess.run(
                command, cwd=work, env=shell_environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False
            )
            said[number] = complaint(done.stdout.decode())
            assert done.returncode == 0, said[number]
    assert said
    assert missing(page.read_text(), said) == []


def test_a_line_that_is_not_printed_is_noticed() -> None:
    page = "```sh\ntrue\n```\n```text\na b  2 MiB\na  3 MiB\nc\n```\n"
    assert missing(page, {0: "a     2 MiB\nb\n"}) == ["a  3 MiB", "c"]


def test_pages_are_short() -> None:
    assert len(PAGES) >= 6
    for page in PAGES:
        assert len(page.read_text().splitlines()) <= 80, page.name
