"""`generate --crate`: a Rust crate whose heap is the design's, for Rust and for the C beside it."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from test_cli import Call

from heapsmith.codegen.crate import crate_of
from heapsmith.codegen.ship import ship, single_of
from heapsmith.model.design.design import load
from heapsmith.tools.common.elf import image_of

CALLED = re.compile(r"    fn (\w+)\(")
LINKED = """
#include <stddef.h>
void *malloc(size_t);
void free_sized(void *, size_t);
size_t heapsmith_counter_count(void);
int main(void) { free_sized(malloc(100), 100); return heapsmith_counter_count() == 0; }
"""


def test_a_crate_has_the_one_c_file_and_its_design(call: Call, tmp_path: Path) -> None:
    assert call("generate", "byte-header", "-o", str(tmp_path), "--crate").status == 0
    about = tomllib.loads((tmp_path / "Cargo.toml").read_text())
    assert about["package"]["name"] == "heapsmith-byte-header"
    assert (tmp_path / "c" / "heap.c").read_bytes() == single_of(load("byte-header"))["heap.c"]
    assert load(str(tmp_path / "design.toml")) == load("byte-header")
    left = [file for file in tmp_path.rglob("*") if file.is_file() and re.search(r"@[A-Z]+@", file.read_text())]
    assert left == []
    assert call("generate", "byte-header", "-o", str(tmp_path), "--crate", "--check").status == 0
    both = call("generate", "lean", "-o", str(tmp_path), "--crate", "--single")
    assert (both.status, both.err[:33]) == (2, "heapsmith: --single and --crate: ")


@pytest.mark.thorough
@pytest.mark.parametrize("linker", ["bfd", "gold", "lld"])
def test_the_c_links_into_a_program_as_build_rs_compiles_it(linker: str, tmp_path: Path) -> None:
    """Rust's own linker takes no hidden name for one that another object has."""
    if shutil.which(f"ld.{linker}") is None:
        pytest.skip(f"not installed: ld.{linker}")
    ship(load("default"), tmp_path, crate_of)
    (tmp_path / "main.c").write_text(LINKED)
    options = ["-DHEAPSMITH_ARCHIVE", "-O2", "-std=gnu17", "-pthread", "-fPIC", "-fno-builtin", f"-fuse-ld={linker}"]
    subprocess.run(["gcc", *options, "c/heap.c", "main.c", "-o", "main"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "main"], check=True)


def test_every_function_that_the_crate_calls_is_of_the_library() -> None:
    files = crate_of(load("default"))
    called = CALLED.findall(files["src/lib.rs"].decode().partition("/// The alignment")[0])
    assert len(called) == 6
    c = files["c/heap.c"].decode()
    assert [name for name in called if not re.search(rf"\b{name}\(", c)] == []


@pytest.mark.big
@pytest.mark.parametrize("name", ["default", "hardened", "lean", "processor"])
def test_cargo_tests_and_packages_it(name: str, tmp_path: Path) -> None:
    """As far as the index of crates can be reached: build.rs uses the crate cc."""
    if shutil.which("cargo") is None:
        pytest.skip("not installed: cargo")
    ship(load(name), tmp_path, crate_of)
    environment = os.environ | {"HEAPSMITH": f"stats={tmp_path}/stats-%p.json"}
    for words in (["test"], ["test", "--release"], ["package", "--allow-dirty"]):
        subprocess.run(["cargo", "-q", *words], cwd=tmp_path, env=environment, check=True)
    reports = [json.loads(file.read_text()) for file in tmp_path.glob("stats-*.json")]
    assert max(report["counters"]["heaps"] for report in reports) > 1


MUSL = "x86_64-unknown-linux-musl"
STATIC = """
#[global_allocator]
static HEAP: heapsmith_default::Heap = heapsmith_default::Heap;

fn main() {
    let words: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
    println!("{}", std::thread::spawn(move || words.len()).join().unwrap());
}
"""


@pytest.mark.big
def test_a_static_program_of_musl_has_it(tmp_path: Path) -> None:
    """The words of docs/recipes.md; Debian's Rust has no library for musl."""
    if missing := [tool for tool in ("cargo", "rustc", "musl-gcc") if shutil.which(tool) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    asked = ["rustc", "--print", "target-libdir", "--target", MUSL]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    if not Path(found.stdout.strip()).is_dir():
        pytest.skip(f"not installed: Rust's library for {MUSL} (rustup target add)")
    ship(load("default"), tmp_path / "crate", crate_of)
    (tmp_path / "app" / "src").mkdir(parents=True)
    (tmp_path / "app" / "src" / "main.rs").write_text(STATIC)
    (tmp_path / "app" / "Cargo.toml").write_text(
        '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n'
        '[dependencies]\nheapsmith-default = { path = "../crate" }\n'
    )
    environment = os.environ | {f"CC_{MUSL.replace('-', '_')}": "musl-gcc"}
    subprocess.run(["cargo", "-q", "build", "--target", MUSL], cwd=tmp_path / "app", env=environment, check=True)
    program = tmp_path / "app" / "target" / MUSL / "debug" / "app"
    image = image_of(program)
    assert image is not None
    assert image.is_static
    report = {"HEAPSMITH": f"stats={tmp_path}/stats.json"}
    assert subprocess.run([program], env=report, capture_output=True, text=True, check=True).stdout == "1000\n"
    assert json.loads((tmp_path / "stats.json").read_text())["counters"]["heaps"] == 2


@pytest.mark.big
@pytest.mark.parametrize(
    ("name", "digest", "least"),
    [
        ("hexyl-0.16.0", "43d56dd04872b6c6d429f18d2e03df95f853feb618c7cd8bf22d0e6851ce5ef8", 30),
        ("fd-find-10.2.0", "de08defa195af894cc295a43bfc65ba28903e492fd5f32f7a24bf75eafd9bf34", 100),
    ],
)
def test_public_programs_pass_their_tests_under_it(name: str, digest: str, least: int, tmp_path: Path) -> None:
    """fd, which has another malloc as an option, walks folders by many threads."""
    if shutil.which("cargo") is None:
        pytest.skip("not installed: cargo")
    try:
        with urlopen(f"https://static.crates.io/crates/{name.rpartition('-')[0]}/{name}.crate", timeout=300) as sent:
            content = sent.read()
    except HTTPError:  # crates.io answers, but has it no more
        raise
    except URLError as error:
        pytest.skip(f"no network: crates.io does not bring {name} ({error.reason})")
    assert hashlib.sha256(content).hexdigest() == digest
    with tarfile.open(fileobj=io.BytesIO(content)) as packed:
        packed.extractall(tmp_path, filter="data")
    ship(load("default"), tmp_path / "crate", crate_of)
    program = tmp_path / name
    with (program / "Cargo.toml").open("a") as about, (program / "src/main.rs").open("a") as main:
        about.write('\n[dependencies.heapsmith-default]\npath = "../crate"\n')
        main.write("#[global_allocator]\nstatic HEAP: heapsmith_default::Heap = heapsmith_default::Heap;\n")
    environment = os.environ | {"HEAPSMITH": f"stats={tmp_path}/stats-%p.json"}
    words = ["cargo", "test", "--no-default-features"]
    said = subprocess.run(words, cwd=program, env=environment, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    assert sum(map(int, re.findall(r"test result: ok\. (\d+) passed; 0 failed", said.stdout))) >= least
    reports = [json.loads(file.read_text()) for file in tmp_path.glob("stats-*.json")]
    assert len(reports) > least
    assert max(report["counters"]["heaps"] for report in reports) > 1
