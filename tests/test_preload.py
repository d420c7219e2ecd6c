"""Libraries and folders whose paths LD_PRELOAD cannot name: every command that preloads one makes a link to it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from conftest import process
from loaded import unchecked_library

from heapsmith.model.design.design import load
from heapsmith.model.errors import Missing
from heapsmith.model.files import cache_dir
from heapsmith.tools.common import preload as links
from heapsmith.tools.common.preload import preload, preloadable

ODD = "a b:c$LIB\té"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """The library of `bare` in a folder of which LD_PRELOAD can name no part."""
    folder = tmp_path / ODD
    folder.mkdir()
    copy = folder / "lib x:y.so"
    copy.write_bytes(unchecked_library(load("bare")).read_bytes())
    return copy


@pytest.fixture
def safe() -> Iterator[Path]:
    """A folder that LD_PRELOAD can name, wherever the tests' own are."""
    with TemporaryDirectory(prefix="heapsmith-", dir="/tmp") as folder:
        yield Path(folder)


def test_a_safe_path_is_named_as_it_is() -> None:
    assert preloadable(Path("/usr/lib/lib.so")) == "/usr/lib/lib.so"
    assert preload(["/a.so", "/b.so"], {}) == "/a.so:/b.so"
    assert preload(["/a.so"], {"LD_PRELOAD": "/c.so /d.so"}) == "/a.so:/c.so /d.so"


def test_the_loader_follows_the_link(library: Path) -> None:
    link = Path(preloadable(library))
    assert not links.SPECIAL.search(str(link))
    assert os.readlink(link) == str(library)
    assert preloadable(library) == str(link)
    code = "print(open('/proc/self/maps').read())"
    mapped = subprocess.run(
        [sys.executable, "-c", code], env={"LD_PRELOAD": str(link)}, capture_output=True, check=True
    )
    assert mapped.stderr == b""
    assert os.fsencode(library) in mapped.stdout


def test_where_links_are(library: Path, safe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(safe / "cache"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(safe / "run"))
    assert Path(preloadable(library)).parent == safe / "cache" / "heapsmith" / "links"
    monkeypatch.setenv("XDG_CACHE_HOME", str(safe / "my cache"))
    assert Path(preloadable(library)).parent == safe / "run" / "heapsmith"
    (safe / "run" / "heapsmith").chmod(0o777)
    assert Path(preloadable(library)).parent == Path(f"/tmp/heapsmith-{os.geteuid()}")
    assert Path(preloadable(library)).parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("trap", ["a file", "a link", "another's", "open to all"])
def test_folders_that_others_may_change(library: Path, safe: Path, monkeypatch: pytest.MonkeyPatch, trap: str) -> None:
    folder = safe / "cache" / "heapsmith" / "links"
    folder.parent.mkdir(parents=True)
    if trap == "a file":
        folder.touch()
    elif trap == "a link":
        folder.symlink_to(safe)
    else:
        folder.mkdir(mode=0o700)
    if trap == "another's":
        monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    if trap == "open to all":
        folder.chmod(0o770)
    monkeypatch.setenv("XDG_CACHE_HOME", str(safe / "cache"))
    monkeypatch.setattr(links, "_folders", lambda *_: iter([folder]))
    with pytest.raises(Missing, match=r"LD_PRELOAD takes no path with .*links: (is not a directory|File exists)"):
        preloadable(library)
    assert not list(safe.glob("*-lib*"))


def run(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command that must succeed."""
    done = process(*arguments, **variables)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.thorough
def test_commands_at_such_paths(library: Path, tmp_path: Path) -> None:
    """Library, trace and output: the cache is a safe one."""
    folder = library.parent
    assert run("run", "--stats", folder / "stats", library, "--", "true").stderr == ""
    assert (folder / "stats").stat().st_size > 0
    run("record", "--only", "-o", folder / "t.hst", "--", "env", "PYTHONMALLOC=malloc", sys.executable, "-S", "-c", "0")
    table = run("replay", folder / "t.hst", "--lib", "glibc", "--lib", library, "--rounds", "1", "--check").stdout
    assert library.name in table


@pytest.mark.big
def test_a_cache_at_such_a_path(tmp_path: Path) -> None:
    """The recorder and a library that the cache holds are preloaded."""
    odd = {"XDG_CACHE_HOME": str(tmp_path / "my cache: $ORIGIN"), "NUMBA_CACHE_DIR": str(cache_dir() / "numba")}
    run("record", "--only", "-o", tmp_path / "t.hst", "--", "true", **odd)
    assert run("run", "bare", "--", "sh", "-c", "echo done", **odd).stdout == "done\n"
    assert list((tmp_path / "my cache: $ORIGIN" / "heapsmith" / "libraries").glob("*/libbare.so"))


@pytest.mark.big
def test_a_forge_at_such_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a folder whose name looks like an option, in a folder of which LD_PRELOAD can name no part."""
    folder = tmp_path / "my job: $1"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("-o").mkdir()
    compiled = {"NUMBA_CACHE_DIR": str(cache_dir() / "numba")}  # not all kernels anew
    odd = {"XDG_CACHE_HOME": str(tmp_path / "my cache: $ORIGIN")} | compiled
    job = ["env", "PYTHONMALLOC=malloc", sys.executable, "-S", "-c", "print([str(i) for i in range(999)])"]
    asked = ("--name", "job", "--base", "bare", "--rounds", "1", "--budget", "2s")
    forged = run("forge", "-o", "./-o", *asked, "--", *job, **odd)
    assert forged.stdout.endswith("-o/report.json\n")
    run("build", "./-o/design.toml", "--static", "-o", "./-o/libjob.a", "--header", "./-o/heapsmith.h", **odd)
    assert {"libjob.so", "libjob.a", "heapsmith.h", "report.json"} <= {path.name for path in Path("-o").iterdir()}
    assert run("run", folder / "-o" / "libjob.so", "--", "sh", "-c", "echo done", **odd).stdout == "done\n"


def test_a_folder_of_links_serves_all_users_and_is_made_anew(library: Path, safe: Path) -> None:
    """Whatever the umask is, and after links were removed, as by a cleaner of /tmp."""
    before = os.umask(0o077)
    try:
        word, _ = links.for_all(library, folder=safe)
        place = Path(word).parent.parent
        folders = [Path(folder) for folder, _, _ in os.walk(place)]
        assert len(folders) > 1
        assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o755}
        for link in place.rglob(links.safe_name(library)):
            link.unlink()
        assert links.for_all(library, folder=safe)[0] == word
        assert list(place.rglob(links.safe_name(library)))
    finally:
        os.umask(before)


def test_a_copy_is_what_it_is_a_copy_of(library: Path, safe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "_open_folder", lambda: safe)
    monkeypatch.setattr(links, "_is_readable", lambda library: False)
    safe.chmod(0o755)
    copy = links._readable(library)
    if copy == library:
        pytest.skip("the folder of the test is mounted without the right to execute")
    assert copy.read_bytes() == library.read_bytes()
    copy.write_bytes(b"planted")
    assert links._readable(library).read_bytes() == library.read_bytes()
    copy.chmod(0o777)
    assert links._readable(library).stat().st_mode & 0o022 == 0


HOLDS = """
import sys
from pathlib import Path
from heapsmith.tools.common import preload
preload._open_folder = lambda: Path(sys.argv[1])
with preload.folder_for_all(Path("unused")) as place:
    print(place, flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="expected root, whose folders are for other users too")
def test_a_folder_of_a_run_that_was_killed_goes_with_the_next(safe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "_open_folder", lambda: safe)
    safe.chmod(0o755)
    if links._folder_of_copies() is None:
        pytest.skip("the folder of the test is mounted without the right to execute")
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(safe)], stdin=pipe, stdout=pipe, text=True) as holder:
        assert holder.stdout is not None
        place = Path(holder.stdout.readline().rstrip())
        with links.folder_for_all(safe) as own:
            assert {*safe.iterdir()} == {place, own}
            assert place.stat().st_mode & 0o777 == 0o755
        holder.kill()
        holder.wait()
    assert place.exists()
    with links.folder_for_all(safe) as own:
        assert {*safe.iterdir()} == {own}
    assert not [*safe.iterdir()]
