"""Hardening: each cell of the tables of docs/lab/hardening.md, by a program that errs once; docs/hardening.md."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest
from covering import covering_designs, of_each_row, soon
from loaded import checked_library, unchecked_library
from preloaded import program
from preloaded import run as run_whole

from heapsmith.bench.attacks.attacks import attacks, caught, ended
from heapsmith.bench.programs.instructions import per_operation
from heapsmith.bench.programs.micro_rows import MICRO
from heapsmith.bench.studies.single_checks import PAIR, at_level
from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model import policy
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.front import none as front_none
from heapsmith.model.policy.rounding import larger as rounding_larger
from heapsmith.model.policy.sampling import countdown
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.peers.peers import GLIBC, Library, find_library
from heapsmith.tools.report import hardening

LEVELS = policy.names("hardening")

JUDGING = [design for design in (load("checks"), load("hardened"), *covering_designs()) if make_plan(design).live_map]
"""Designs whose library judges copies."""
BY_CLASSIFIER = {design.classifier: design for design in (*JUDGING[::-1], *of_each_row(4)) if design in JUDGING}
"""One for each classifier, of those whose checked libraries other tests have built where there is one."""
FIRST_JUDGING = [*JUDGING[:2], *BY_CLASSIFIER.values()]

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "misuse"
ROW = re.compile(r"^\| `(\w+)` \|[^|\n]*\|([^|\n]*)\|([^|\n]*)\|([^|\n]*)\|([^|\n]*)\|$", re.MULTILINE)


PAGE = HERE.parent / "docs" / "hardening.md"
MEASURED = HERE.parent / "docs" / "lab" / "hardening.md"
MISUSE = "| program |"
ATTACKS = "| attack |"
"""The heads of the tables."""


def table(head: str = MISUSE) -> dict[str, dict[str, str]]:
    """By program and level, the words that the page promises; empty where the level does not look."""
    rows = ROW.findall(MEASURED.read_text().split(head)[1].split("\n\n")[0])
    return {name: dict(zip(LEVELS, (cell.strip() for cell in cells), strict=True)) for name, *cells in rows}


def design_of(level: str, *, listed: bool = False, classifier: str = "slab_map", remote: str = "local_cache") -> Design:
    """The default design at a level of hardening; `listed`: with lists through freed blocks."""
    base = load("default")
    return msgspec.structs.replace(
        base,
        name=f"{level}-{classifier}-{remote}",
        hardening=policy.row("hardening", level).Params(),
        front=front_linked_list.Params() if listed else base.front,
        classifier=classifier,
        empties="dedicated" if classifier == "class_region" else "shared",
        remote=remote,
    )


def run(name: str, design: Design) -> subprocess.CompletedProcess[str]:
    """The program under the design's library."""
    tool = build_tool(name, [PROGRAMS / f"{name}.c"], ["-O1", "-fno-builtin", "-w", f"-I{PROGRAMS}"])
    command = ["env", f"LD_PRELOAD={preloadable(unchecked_library(design))}", str(tool)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(("level", "name"), list(zip(LEVELS, ("default", "basic", "checks", "hardened"), strict=True)))
def test_the_attacks_that_each_level_stops(level: str, name: str) -> None:
    """Each cell of the page's table of attacks, and its counts."""
    each = attacks(Library(name, unchecked_library(load(name))))
    found: dict[str, list[str]] = {}
    for attack in each:
        cell = {"stopped": [attack.size], "foiled": [f"({attack.size})"], "hit": []}[attack.end]
        found.setdefault(attack.name, []).extend(cell)
    assert {attack: " ".join(cell) for attack, cell in found.items()} == {
        attack: cells[level] for attack, cells in table(ATTACKS).items()
    }
    counts = MEASURED.read_text().split("| malloc |")[1].split(f"| `{name}` |")[1].split("\n")[0]
    assert counts.removesuffix("|").strip() == caught(each)


WRONG_DELETES = [
    ("::operator delete[](block)", "delete[] of what new made"),
    ("::operator delete(array)", "delete of what new[] made"),
    ("::operator delete(block, 2 * bytes)", "delete of another size"),
    ("::operator delete(block, bytes / 2)", "delete of another size"),
    ("::operator delete[](array, 2 * bytes)", "delete of another size"),
    ("::operator delete(block, bytes); ::operator delete[](array, bytes); free(::operator new(bytes))", ""),
]
"""What a program does with what new and new[] made, and what it is told."""


@pytest.mark.parametrize("level", ["checks", "full"])
@pytest.mark.parametrize(("does", "words"), WRONG_DELETES)
@pytest.mark.parametrize("size", [40, 40_000_000])
def test_wrong_deletes(does: str, words: str, level: str, size: int, tmp_path: Path) -> None:
    deletes(does, words, design_of(level), size, tmp_path)


@pytest.mark.parametrize("guards", [0, 8])
@pytest.mark.parametrize(("does", "words"), WRONG_DELETES)
def test_wrong_deletes_of_samples(does: str, words: str, guards: int, tmp_path: Path) -> None:
    """Each block is one. At `checks` the size of one without a guard is known to the page."""
    sampling = countdown.Params(mean_bytes=1, guards=guards)
    design = msgspec.structs.replace(design_of("full"), name=f"full-samples-{guards}", sampling=sampling)
    deletes(does, words, design, 40, tmp_path)


def deletes(does: str, words: str, design: Design, size: int, tmp_path: Path) -> None:
    """A program that does so with blocks of this size, under the design's library."""
    source = tmp_path / "deletes.cc"
    source.write_text(
        "#include <cstdio>\n#include <cstdlib>\n#include <new>\nint main() {\n"
        f"const size_t bytes = {size};\n"
        "void *volatile block = ::operator new(bytes), *volatile array = ::operator new[](bytes);\n"
        f'dprintf(1, "%p", {"array" if "array" in does else "block"}); {does}; }}\n'
    )
    tool = build_tool("deletes", [source], ["-x", "c++", "-w", "-lstdc++"])
    command = ["env", f"LD_PRELOAD={preloadable(unchecked_library(design))}", str(tool)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    line = f"heapsmith: {words}: {int(done.stdout, 16):#018x}\n" if words else ""
    assert (done.returncode, done.stderr) == (-signal.SIGABRT if words else 0, line)


def test_the_table_names_every_program() -> None:
    assert sorted(table()) == sorted(path.stem for path in PROGRAMS.glob("*.c"))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", sorted(table()))
def test_what_the_page_says(name: str, level: str) -> None:
    holds(name, level, design_of(level, listed=name == "write_link"))


@pytest.mark.thorough
@pytest.mark.parametrize("classifier", ["class_region", "header"])
@pytest.mark.parametrize("name", sorted(set(table()) - {"write_link", "underflow"}))
def test_under_the_other_classifiers(name: str, classifier: str) -> None:
    holds(name, "full", design_of("full", classifier=classifier, remote="owner_list"))


@pytest.mark.parametrize("level", ["checks", "full"])
@pytest.mark.parametrize("name", ["double_free", "double_free_later", "double_free_reused", "write_link"])
def test_where_slabs_keep_lists(name: str, level: str) -> None:
    """The live map finds a second free, and the encoded links a write after the free."""
    holds(name, level, msgspec.structs.replace(design_of(level), front=front_none.Params(), freed_blocks="list"))


@pytest.mark.parametrize("level", ["checks", "full"])
def test_the_live_map_of_several_slabs_in_a_page(level: str) -> None:
    """It does not go with the pages of one of them: the second free is still known as one."""
    design = changed(design_of(level), "small-slabs", {"sizes": [*range(16, 129, 16)], "slab_bytes": 16_384})
    done = run("free_released", design)
    line = f"heapsmith: double free: {int(done.stdout, 16):#018x}\n"
    assert (done.returncode, done.stderr) == (-signal.SIGABRT, line)


def test_an_aligned_block_that_a_larger_class_lent_ends_where_its_own_does() -> None:
    design = msgspec.structs.replace(design_of("full"), rounding=rounding_larger.Params())
    run_whole([program("run_aligned_lent")], unchecked_library(design))


@pytest.mark.parametrize("design", soon(JUDGING, FIRST_JUDGING), ids=lambda design: design.name)
def test_copies_that_leave_no_block(design: Design) -> None:
    run_whole([program("copies")], checked_library(design))


@pytest.mark.parametrize("classifier", soon(["slab_map", "class_region", "page_map", "header"], ["slab_map"]))
def test_every_byte_that_is_changed_is_noticed(classifier: str) -> None:
    """Short and long blocks have code of their own, and so have those of one word, and long ones of just over 128."""
    design = design_of("full", classifier=classifier)
    design = msgspec.structs.replace(design, sizes=sorted({*design.sizes, 144}))
    header = make_plan(design).header_bytes
    run_whole([program("every_byte"), 0, header], unchecked_library(design))


@pytest.mark.parametrize("level", ["checks", "full"])
@pytest.mark.parametrize("classifier", soon(["slab_map", "class_region", "header"], ["slab_map"]))
def test_every_copy_is_judged(level: str, classifier: str) -> None:
    """At every place of a block, to its last byte; lengths that are negative numbers too."""
    remote = "local_cache" if classifier == "slab_map" else "owner_list"
    library = unchecked_library(design_of(level, classifier=classifier, remote=remote))
    run_whole([program("every_copy"), level], library)


@pytest.mark.parametrize("name", ["checks", "hardened"])
def test_guards_and_what_is_held_back(name: str) -> None:
    """To the page, also where a limit on data or on address space comes and goes."""
    run_whole([program("every_guard")], unchecked_library(load(name)))


@pytest.mark.parametrize("name", ["checks", "hardened"])
def test_a_refused_move_leaves_the_mappings_of_others(name: str) -> None:
    """A limit that is noticed while a block is freed lets go of it too."""
    run_whole([program("refused_moves")], unchecked_library(load(name)))


def faults_per_page(library: Path) -> float:
    """The page faults of a program that writes fresh blocks once, by page."""
    faults, pages = map(int, run_whole([program("fresh_blocks")], library).split())
    return faults / pages


BY_PAGE = changed(load("hardened"), "by-page", {"populate": None, "thp": "never"})
"""Its pages come one by one, when they are touched."""


def test_a_fresh_page_costs_one_fault() -> None:
    assert faults_per_page(unchecked_library(BY_PAGE)) < 1.2


def holds(name: str, level: str, design: Design) -> None:
    """The program ends as the page says."""
    judge(run(name, design), name, level)


def judge(done: subprocess.CompletedProcess[str], name: str, level: str) -> None:
    """With the last words and the address that it named, or without a word."""
    match table()[name][level]:
        case "":
            assert "heapsmith" not in done.stderr
        case "SIGSEGV":
            assert (done.returncode, done.stderr) == (-signal.SIGSEGV, "")
        case words:
            address = int(done.stdout, 16)
            assert (done.returncode, done.stderr) == (-signal.SIGABRT, f"heapsmith: {words}: {address:#018x}\n")


@pytest.mark.thorough
def test_the_figures_of_levels_are_those_of_the_attacks() -> None:
    """What `tune` and `forge` say, of the two levels whose library is a built-in design's."""
    found = hardening.figures()
    for level, name in (("off", "default"), ("basic", "basic")):
        stopped = attacks(Library(name, unchecked_library(load(name))))
        assert (found.attacks, found.levels[level].stopped) == (len(stopped), ended(stopped))
    if found.glibc == os.confstr("CS_GNU_LIBC_VERSION"):
        assert found.of_glibc == ended(attacks(find_library(GLIBC)))
    assert list(found.levels) == LEVELS
    stops = [one.stopped for one in found.levels.values()]
    assert stops == sorted(set(stops))


@pytest.mark.thorough
@pytest.mark.parametrize("level", ["checks", "full"])
def test_the_figures_of_the_other_levels(level: str) -> None:
    stopped = attacks(Library(level, unchecked_library(at_level(level))))
    assert hardening.figures().levels[level].stopped == ended(stopped)


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.parametrize("level", LEVELS[1:])
def test_the_instructions_of_each_level(level: str) -> None:
    row = next(row for row in MICRO if row.name == PAIR)
    off, on = (per_operation(row, library_of(at_level(one)), operations=4000) for one in ("off", level))
    assert on - off == pytest.approx(hardening.figures().levels[level].instructions, abs=0.06)


def test_the_built_in_basic_is_default_with_this_level() -> None:
    """So what is measured of the level is true of `--base basic`, and its memory is that of `default`."""
    expected = msgspec.structs.replace(at_level("basic"), name="basic", about=load("basic").about)
    assert load("basic") == expected


def test_what_is_said_of_a_level() -> None:
    found = hardening.figures()
    said = [hardening.sentence(at_level(level)) for level in LEVELS]
    figures = {level: (found.levels[level].stopped, found.levels[level].instructions or 0) for level in LEVELS}
    stops = {level: f"stops {stopped}" for level, (stopped, _) in figures.items()}
    costs = {level: f" for {cost:.0f} instructions a pair" for level, (_, cost) in figures.items()}
    of = f" of {found.attacks} small attacks"
    than = f" (glibc's malloc: {found.of_glibc})"
    assert said[0] == (
        f"Hardening off {stops['off']}{of}{than}; basic {stops['basic']}{costs['basic']} (--base basic)."
    )
    assert said[1].startswith(f"Hardening basic {stops['basic']}{of}{costs['basic']}{than}; checks {stops['checks']}")
    assert said[2].endswith(f"; full {stops['full']}{costs['full']} (--base hardened).")
    assert said[3] == f"Hardening full {stops['full']}{of}{costs['full']}{than}."


def test_the_figures_come_back_as_they_were_kept(tmp_path: Path) -> None:
    found = hardening.figures()
    hardening.keep(found, tmp_path / "hardening.toml")
    assert (tmp_path / "hardening.toml").read_text() == hardening.FILE.read_text()


def rows(head: str) -> list[list[str]]:
    """The cells of a table of the manual's page."""
    lines = PAGE.read_text().split(head)[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_manual_says_from_which_level_misuse_is_found() -> None:
    found = {name: level for _, level, names in rows("| misuse |") for name in re.findall(r"`(\w+)`", names)}
    first = {name: next(level for level, words in cells.items() if words) for name, cells in table().items()}
    assert {name: level.strip("`") for name, level in found.items()} == first


def test_the_manual_has_what_was_measured() -> None:
    """Its table of levels: instructions, and how many attacks the built-in designs and the levels alone stop."""
    figures, measured = hardening.figures(), MEASURED.read_text()
    for name, level in (("default", "off"), ("basic", "basic"), ("checks", "checks"), ("hardened", "full")):
        one = figures.levels[level]
        built_in = re.search(rf"\| `{name}` \| \d+ \((\d+) ended", measured)
        assert built_in is not None
        alone = "" if int(built_in[1]) == one.stopped else f" ({one.stopped})"
        (cells,) = [cells for cells in rows("| level |") if cells[0] == f"`{level}`"]
        assert (cells[2], cells[5]) == (f"{one.instructions or 0:.0f}", f"{built_in[1]}{alone}")
    means = re.search(r"\| geometric mean \| (\S+) \| (\S+) \| \S+ \| \S+ \| (\S+) \| (\S+) \|", measured)
    assert means is not None
    assert [(cells[3], cells[4]) for cells in rows("| level |")[2:]] == [(means[1], means[3]), (means[2], means[4])]
    assert f"glibc 2.36 ends {figures.of_glibc}" in PAGE.read_text()


@pytest.mark.parametrize("page", ["../README.md", "start.md", "howto/debug-misuse.md"])
def test_the_pages_that_say_what_a_level_stops(page: str) -> None:
    """`default` and `basic`, with the cost of that and what glibc stops."""
    found, text = hardening.figures(), " ".join((PAGE.parent / page).read_text().split())
    off, basic = found.levels["off"], found.levels["basic"]
    assert f"{off.stopped} of {found.attacks} small attacks" in text
    assert f"glibc {found.of_glibc}" in text
    assert f"stops {basic.stopped} for {basic.instructions:.0f} instructions a pair" in text
    if "`--base checks`" in text:  # the built-in design, not its level on `default`
        designs = MEASURED.read_text()
        stopped = re.search(r"\| `checks` \| \d+ \((\d+) ended", designs)
        assert stopped is not None
        instructions = found.levels["checks"].instructions + countdown.COSTS["sampling.request"]
        assert f"`--base checks` {stopped[1]} for {instructions:.0f}" in text


@pytest.mark.parametrize("name", ["double_free", "double_free_flushed", "free_inside", "free_inside_later"])
@pytest.mark.parametrize("freed_blocks", ["list", "discarded"])
def test_basic_where_no_mark_tells_of_a_freed_block(name: str, freed_blocks: str) -> None:
    """The start of a block is known all the same; of two frees the number of blocks tells, or the slab that is gone."""
    design = msgspec.structs.replace(design_of("basic"), front=front_none.Params(), freed_blocks=freed_blocks)
    done = run(name, design)
    assert done.returncode == (-signal.SIGABRT), done.stderr
    if name.startswith("free_inside"):
        assert done.stderr == f"heapsmith: not the start of a block: {int(done.stdout, 16):#018x}\n"
    else:
        assert done.stderr.startswith(("heapsmith: double free: ", "heapsmith: free of what is no block in use: "))


@pytest.mark.parametrize("place", range(4))
def test_a_block_twice_in_a_row_among_those_that_are_marked_at_once(place: int, tmp_path: Path) -> None:
    """No stack of a processor is looked at: four neighbours are marked at once, wherever the pair is among them."""
    source = tmp_path / "row.c"
    source.write_text(
        '#include "misuse.h"\n'
        "enum { BLOCKS = 8000 };\n"
        "int main(void) {\n"
        "static void *block[BLOCKS];\n"
        "for (int n = 0; n < BLOCKS; n++) block[n] = get(SMALL);\n"
        f"for (int n = 0; n < BLOCKS; n++) {{ free(block[n]); if (n == BLOCKS / 2 + {place}) {{\n"
        "name(block[n]); free(hidden(block[n])); } } }\n"
    )
    tool = build_tool("row", [source], ["-O1", "-fno-builtin", "-w", f"-I{PROGRAMS}"])
    design = changed(load("processor"), "processor-basic", {"hardening": {"kind": "basic"}})
    command = ["env", f"LD_PRELOAD={preloadable(unchecked_library(design))}", str(tool)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    line = f"heapsmith: double free: {int(done.stdout, 16):#018x}\n"
    assert (done.returncode, done.stderr) == (-signal.SIGABRT, line)


def test_basic_finds_the_header_of_another_class() -> None:
    """The byte before a block names its class. Whoever writes it frees the block into another class."""
    design = msgspec.structs.replace(
        design_of("basic", classifier="byte_header", remote="owner_list"), front=front_none.Params()
    )
    done = run("underflow", design)
    line = f"heapsmith: written to before its start: {int(done.stdout, 16):#018x}\n"
    assert (done.returncode, done.stderr) == (-signal.SIGABRT, line)
