"""The public suite: its own script runs the benchmarks, with the malloc and the settings that a name stands for."""

from pathlib import Path

import pytest

from heapsmith.bench.studies import public_suite
from heapsmith.bench.studies.public_suite import Data, Row, Used, joined, made, told
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.tools.peers.peers import GLIBC, Library

SCRIPT = """
for word; do case $word in
  --external=*) library=$(cut -d ' ' -f 2 "${word#*=}"); name=tested;;
  sys) library=none; name=sys;;
  -j=*) procs=${word#*=};;
  *) tests="$tests $word";;
esac; done
test -f ../../bench.sh || exit 1
echo "# benchmark allocator elapsed rss user sys page-faults page-reclaims" > benchres.csv
for test in $tests; do echo "$test $name 01.50 ${procs}000 1.25 0.5 0 1" >> benchres.csv; done
echo "$library ${MIMALLOC_ALLOW_THP:-unset}" > said
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "a suite"
    (folder / "out" / "bench").mkdir(parents=True)
    (folder / "bench.sh").write_text(SCRIPT)
    return folder


def test_the_suite_runs_with_the_malloc_and_its_settings(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIMALLOC_ALLOW_THP", "1")
    found = public_suite.once(checkout, Library(GLIBC, None), ("cfrac", "lua"), 3)
    assert found == {"cfrac": 3000, "lua": 3000}
    said = checkout / "out" / "bench" / "said"
    assert said.read_text() == "none unset\n"
    other = Library("other", Path("/lib/other.so"), settings={"MIMALLOC_ALLOW_THP": "0"})
    public_suite.once(checkout, other, ("cfrac",), 2)
    assert said.read_text() == "/lib/other.so 0\n"


def test_a_folder_that_is_no_built_suite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="expected a checkout of mimalloc-bench, built in out/bench"):
        public_suite.once(tmp_path, Library(GLIBC, None), ("cfrac",), 2)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("true", "status 0; expected 0, and the file .*benchres.csv"),
        (SCRIPT + "exit 3", "status 3; expected 0"),
        (SCRIPT.replace("for test in $tests", "for test in lua"), "found none of cfrac"),
    ],
)
def test_figures_of_the_run_before_are_not_taken_for_those_of_this(checkout: Path, script: str, said: str) -> None:
    public_suite.once(checkout, Library(GLIBC, None), ("cfrac", "lua"), 2)
    (checkout / "bench.sh").write_text(script)
    with pytest.raises(CheckFailed, match=said):
        public_suite.once(checkout, Library(GLIBC, None), ("cfrac", "lua"), 2)


def test_each_benchmark_of_a_test_must_be_there(checkout: Path) -> None:
    with pytest.raises(CheckFailed, match="found none of alloc-test1, alloc-testN"):
        public_suite.once(checkout, Library(GLIBC, None), ("alloc-test",), 2)
    with pytest.raises(CheckFailed, match=r"found none of alloc-test1$"):
        public_suite.once(checkout, Library(GLIBC, None), ("alloc-test",), 1)


def test_a_benchmark_without_figures_is_an_error() -> None:
    with pytest.raises(CheckFailed, match=r"01\.5 x 1 1 0 0'; expected eight columns"):
        told("# benchmark\ncfrac sys 01.5 x 1 1 0 0\n")


def used(peak_kib: float, commit: str = "1") -> Used:
    return Used(peak_kib, "2026-01-01", commit, 1)


def test_figures_of_other_mallocs_stay() -> None:
    known = [Row("cfrac", 2, {"glibc": used(2), "default": used(3)})]
    found = joined(known, {"cfrac": [Row("cfrac", 2, {"default": used(1, "2")}), Row("cfrac", 16, {"glibc": used(9)})]})
    assert found == [
        Row("cfrac", 2, {"glibc": used(2), "default": used(1, "2")}),
        Row("cfrac", 16, {"glibc": used(9)}),
    ]
    assert found[0].part("default") == 0.5


def test_the_table_says_when_each_column_was_measured() -> None:
    rows = [
        Row("cfrac", 2, {"glibc": used(2), "default": used(3, "2")}),
        Row("lua", 2, {"glibc": used(2), "default": used(3, "3")}),
        Row("redis", 2, {"glibc": used(2), "default": used(3, "3")}),
    ]
    assert "| measured | 2026-01-01, 1 | 2026-01-01, 3; cfrac: 2026-01-01, 2 |" in made(Data("4", rows))[-1]
