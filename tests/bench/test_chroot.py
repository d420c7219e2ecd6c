"""The page of platforms has the figures of the chroot, and each command ended there as it must."""

import shutil
from pathlib import Path

import msgspec
import pytest

from heapsmith.bench.common.command import run as run_main
from heapsmith.bench.gates import chroot
from heapsmith.model.errors import Missing


def test_the_page_has_the_figures_that_are_kept() -> None:
    page = chroot.PAGE.read_text()
    assert chroot.paged(page, chroot.kept()) == page
    other = msgspec.structs.replace(chroot.kept(), download_bytes=1)
    assert chroot.paged(page, other) != page


def test_each_command_ended_as_it_must() -> None:
    figures = chroot.kept()
    assert chroot.faults(figures) == []
    assert [one.words for one in figures.steps] == [chroot.shown(words) for _, words in chroot.STEPS]
    first = msgspec.structs.replace(figures.steps[0], status=1)
    other = msgspec.structs.replace(figures, steps=[first, *figures.steps[1:]])
    assert chroot.faults(other) == ["--version: status 1, expected 0: heapsmith 0.1.0"]


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="no apt")
def test_the_mirror_is_apts() -> None:
    try:
        address, codename = chroot.mirror()
    except Missing:
        pytest.skip("apt has no list of Debian's main component")
    assert address.startswith(("http", "file", "mirror", "copy", "cdrom"))
    assert codename.isalnum()


def test_without_a_wheel_there_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Missing, match="make wheels"):
        run_main(chroot.main, [])


def test_files_with_two_names_count_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(10_000))
    alone = chroot.disk_bytes(tmp_path)
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    assert chroot.disk_bytes(tmp_path) == alone > 0
