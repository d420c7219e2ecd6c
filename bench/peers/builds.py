"""Build the peers' releases in the cache: python -m heapsmith.bench.peers.builds [NAME...]."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.peers.older_glibc import bind_to_older
from heapsmith.model.errors import BadInput, CheckFailed, HeapsmithError, Missing
from heapsmith.model.files import write_text
from heapsmith.tools.peers.peers import Library, built_folder, why_no_malloc

APT_HELPER = "/usr/lib/apt/apt-helper"
DEBIAN_POOL = "http://deb.debian.org/debian/pool/main"
DEBIAN_PACKAGE = {"g++": "g++", "gcc": "gcc", "cc": "gcc", "dpkg-deb": "dpkg", APT_HELPER: "apt"}
NOT_OURS = {"LD_PRELOAD", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "MFLAGS", "MAKELEVEL"}
JOBS = str(len(os.sched_getaffinity(0)))
DEB_GLIBC = (2, 38)


class Crate(NamedTuple):
    """A crate with the peer's sources."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"the crate {self.name} {self.version}"


class Deb(NamedTuple):
    """A Debian package (amd64): its path in the pool without the suffix, and its SHA-256."""

    path: str
    sha256: str

    def __str__(self) -> str:
        return f"Debian's package {Path(self.path).name}"


class Build(NamedTuple):
    """A peer: its release, its origin, and the function that builds its shared object."""

    name: str
    version: str
    origin: Crate | Deb
    make: Callable[[Path, Path], tuple[str, Path]]
    """(source, scratch folder) -> (version in the source, shared object in the scratch folder)."""


def _run(command: Sequence[str], folder: Path) -> str:
    """The output of `command` in `folder`. Raises Missing without its program, CheckFailed."""
    program = command[0]
    if shutil.which(program) is None:
        raise Missing(f"{program} not found on PATH (Debian: apt install {DEBIAN_PACKAGE.get(program, program)})")
    environment = {name: value for name, value in os.environ.items() if name not in NOT_OURS} | {"LC_ALL": "C"}
    done = subprocess.run(
        command, cwd=folder, env=environment, check=False, capture_output=True, text=True, errors="replace"
    )
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()] or ["no output"]
        by_apt = [line for line in lines if line.startswith("E: ")]
        by_others = [line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)]
        told = (by_apt or by_others or lines[-1:])[0]
        raise CheckFailed(f"{program} failed (status {done.returncode}): {told}")
    return done.stdout


def jemalloc(source: Path, scratch: Path) -> tuple[str, Path]:
    """configure and make by INSTALL.md; the crate keeps configure in another place."""
    stated = source.name.partition("+")[2]
    shutil.copytree(source / "jemalloc", scratch, dirs_exist_ok=True)
    shutil.copy(source / "configure" / "configure", scratch)
    _run(["g++", "--version"], scratch)
    _run(["sh", "configure", f"--with-version={stated}", "--disable-static", "--disable-doc"], scratch)
    _run(["make", "-j", JOBS, "lib/libjemalloc.so.2"], scratch)
    return stated.partition("-")[0], scratch / "lib" / "libjemalloc.so.2"


def _cmake(source: Path, scratch: Path, target: str, *options: str) -> None:
    """Build with CMakeLists.txt in the release configuration."""
    _run(["g++", "--version"], scratch)
    _run(["cmake", "-S", str(source), "-B", str(scratch), "-DCMAKE_BUILD_TYPE=Release", *options], scratch)
    _run(["cmake", "--build", str(scratch), "--target", target, "--parallel", JOBS], scratch)


def mimalloc(source: Path, scratch: Path, folder: str) -> tuple[str, Path]:
    """One of the two releases in the crate."""
    source = source / "c_src" / folder
    header = (source / "include" / "mimalloc.h").read_text()
    number = re.search(r"MI_MALLOC_VERSION\s+(\d)(\d\d)(\d\d)\b", header)
    if number is None:
        raise CheckFailed(f"{source}: include/mimalloc.h states no MI_MALLOC_VERSION of five digits")
    _cmake(source, scratch, "mimalloc", "-DMI_BUILD_STATIC=OFF", "-DMI_BUILD_OBJECT=OFF", "-DMI_BUILD_TESTS=OFF")
    return ".".join(str(int(part)) for part in number.groups()), (scratch / "libmimalloc.so").resolve()


def snmalloc(source: Path, scratch: Path) -> tuple[str, Path]:
    """The shim for LD_PRELOAD without snmallocshim-checks; the crate is part of its repository."""
    _cmake(source / "upstream", scratch, "snmallocshim", "-DSNMALLOC_BUILD_TESTING=OFF")
    return source.name.rpartition("-")[2], scratch / "libsnmallocshim.so"


def hardened_malloc(source: Path, scratch: Path) -> tuple[str, Path]:
    """The sources of the crate, configured as in its default.mk; C before C23 has alignas and others in headers."""
    code = source / "vendor" / "hardened-malloc"
    settings = re.findall(r"^([A-Z_]+) *= *(\w+)", (source / "config-default.conf").read_text(), re.MULTILINE)
    flags = ["-O3", "-fPIC", "-fvisibility=hidden", "-pthread", "-D_GNU_SOURCE", f"-I{code}", f"-I{code / 'include'}"]
    flags += [f"-D{name}={value}" for name, value in settings]
    older = ["-std=gnu17", "-include", "stdalign.h", "-include", "stdbool.h", "-include", "assert.h"]
    _run(["gcc", *flags, *older, "-c", *map(str, sorted(code.glob("*.c")))], scratch)
    objects = sorted(str(path) for path in scratch.glob("*.o"))
    library = scratch / "libhardened_malloc.so"
    _run(["g++", *flags, "-std=c++17", "-shared", "-o", str(library), *objects, str(code / "new.cc")], scratch)
    return source.name.rpartition("-")[2].partition(".")[0], library


def packaged(source: Path, scratch: Path, pattern: str) -> tuple[str, Path]:
    """The shared object of an unpacked Debian package, adapted to an older C library."""
    found = sorted(path for path in (source / "usr" / "lib").rglob(pattern) if not path.is_symlink())
    if len(found) != 1:
        raise CheckFailed(f"{source}: expected one file {pattern} in the package, not {len(found)}")
    library = Path(shutil.copy(found[0], scratch))
    name, version = platform.libc_ver()
    if name != "glibc":
        raise Missing("no glibc: the packages of Debian need it")
    if tuple(map(int, version.split("."))) < DEB_GLIBC:
        bind_to_older(library, "GLIBC_{}.{}".format(*DEB_GLIBC))
    stated = (source / "version").read_text().strip()
    return stated.rpartition("-")[0], library


_MIMALLOC = Crate("libmimalloc-sys2", "0.1.65")
BUILDS = (
    Build(
        "jemalloc",
        "5.3.1",
        Crate("tikv-jemalloc-sys", "0.7.1+5.3.1-0-g81034ce1f1373e37dc865038e1bc8eeecf559ce8"),
        jemalloc,
    ),
    Build("mimalloc2", "2.5.2", _MIMALLOC, partial(mimalloc, folder="mimalloc")),
    Build("mimalloc3", "3.6.0", _MIMALLOC, partial(mimalloc, folder="mimalloc3")),
    Build("snmalloc", "0.7.6", Crate("snmalloc-sys", "0.7.6"), snmalloc),
    Build(
        "rpmalloc",
        "2.0.1",
        Deb(
            "libr/librpmalloc/librpmalloc1_2.0.1-1_amd64",
            "e041791e686965a1830ad582d8ea6476cbe4cf1a2f2170f9ac74cf54406b93c4",
        ),
        partial(packaged, pattern="librpmalloc.so.*"),
    ),
    Build(
        "tcmalloc",
        "2.18.1",
        Deb(
            "g/google-perftools/libtcmalloc-minimal4t64_2.18.1-2_amd64",
            "a0126b0d0afc7c03276715ea6406330c078ca10b931e8911791fc86bfba244cc",
        ),
        partial(packaged, pattern="libtcmalloc_minimal.so.*"),
    ),
    Build("hardened_malloc", "16", Crate("hardened-malloc-sys", "16.0.2026071503"), hardened_malloc),
)


def fetch_crate(crate: Crate, folder: Path) -> Path:
    """The folder of the crate's sources; cargo fetches them and checks the registry's checksum."""
    manifest = folder / "Cargo.toml"
    version = crate.version.partition("+")[0]  # a requirement of cargo has no build metadata
    package = '[package]\nname = "peers"\nversion = "0.0.0"\nedition = "2021"\n[lib]\npath = "lib.rs"\n'
    write_text(manifest, f'{package}[dependencies]\n{crate.name} = "={version}"\n', Missing)
    (folder / "lib.rs").touch()
    described = msgspec.json.decode(_run(["cargo", "metadata", "--format-version", "1"], folder))
    for found in described["packages"]:
        if (found["name"], found["version"]) == crate:
            return Path(found["manifest_path"]).parent
    raise CheckFailed(f"cargo fetched no {crate.name} of the exact version {crate.version}")


def fetch_deb(deb: Deb, folder: Path) -> Path:
    """The unpacked package, with a file `version`; apt fetches it and checks the SHA-256."""
    if platform.machine() != "x86_64":
        raise Missing(f"{deb} is for x86-64, this machine is {platform.machine()}")
    archive, unpacked = folder / "package.deb", folder / "package"
    url = f"{DEBIAN_POOL}/{deb.path}.deb"
    unsandboxed = ["-o", "APT::Sandbox::User="]  # apt's own user may not write to a home directory
    _run([APT_HELPER, *unsandboxed, "download-file", url, str(archive), f"SHA256:{deb.sha256}"], folder)
    _run(["dpkg-deb", "-x", str(archive), str(unpacked)], folder)
    write_text(unpacked / "version", _run(["dpkg-deb", "-f", str(archive), "Version"], folder), Missing)
    return unpacked


def build(row: Build, folder: Path) -> Path:
    """Fetch, build and check one peer; it replaces older NAME-VERSION.so files in `folder`.

    Raises Missing if a tool is absent, CheckFailed if a step fails, the source has another version,
    or the library cannot replace malloc.
    """
    with tempfile.TemporaryDirectory(prefix=".build-", dir=folder) as work:
        got, scratch = Path(work) / "got", Path(work) / "made"
        got.mkdir()
        scratch.mkdir()
        source = fetch_crate(row.origin, got) if isinstance(row.origin, Crate) else fetch_deb(row.origin, got)
        stated, made = row.make(source, scratch)
        if stated != row.version:
            raise CheckFailed(f"{row.origin} holds release {stated}, expected {row.version}")
        if reason := why_no_malloc(Library(row.name, made)):
            raise CheckFailed(reason)
        for older in folder.glob(f"{row.name}-*.so"):
            older.unlink()
        return made.replace(folder / f"{row.name}-{row.version}.so")


def _report(row: Build, folder: Path) -> int:
    """Build one peer if absent, and report it in one line; returns the exit status."""
    name, place = f"{row.name} {row.version}", folder / f"{row.name}-{row.version}.so"
    if place.exists():
        print(f"{name}: already built, {place}", flush=True)
        return 0
    start = time.monotonic()
    try:
        build(row, folder)
    except HeapsmithError as error:
        print(f"heapsmith: {name}: not built: {error}", file=sys.stderr, flush=True)
        return error.exit_code
    print(f"{name}: built from {row.origin} in {time.monotonic() - start:.0f} s, {place}", flush=True)
    return 0


def main(names: Annotated[list[str] | None, typer.Argument(metavar="NAME")] = None) -> int:
    """Build all or the named peers, one line for each; returns the highest exit status."""
    known = {row.name: row for row in BUILDS}
    if wrong := [name for name in names or [] if name not in known]:
        raise BadInput(f"{wrong[0]}: expected one of {', '.join(known)}")
    folder = built_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Missing(f"{folder}: cannot be written: {error.strerror}") from error
    return max(_report(known[name], folder) for name in (names or known))


if __name__ == "__main__":
    exit_with(main)
