"""GCC: find it, run it, report its errors in one line, and cache the small C tools."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.files import cache_dir, staged

TOOL_FLAGS = ("-std=gnu11", "-O2", "-g", "-Wall", "-Wextra")
TOOL_LIMIT_S = 600.0
"""Of one run of a compiler or of another tool."""
PREBUILT = Path(__file__).absolute().parent.parent / "prebuilt"
"""What the wheels of a platform bring compiled, for systems without a compiler."""
_OTHER_IN_ZIG = {
    "-Wl,-Bsymbolic-functions": ("-Wl,-Bsymbolic",),
    "-Wl,-z,noseparate-code": (),
    "-Wl,--exclude-libs,ALL": (),
    "-static-libgcc": ("-lunwind",),
    "-nostdlib": (),  # of an object: it would take the C library's headers away
}
"""Options that ziglang refuses, or that name gcc's libraries, and what says the same there."""


class Compiler(NamedTuple):
    """A C compiler: its absolute path and the first line of `--version`, for cache keys."""

    path: str
    version: str


@lru_cache(maxsize=8)
def _version(path: str) -> str:
    """The first line of `path --version`; raises Missing if the program cannot run."""
    try:
        shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Missing(f"{path} --version does not run: {error}") from error
    return shown.splitlines()[0] if shown else path


def find_tool(name: str, what: str = "binutils", packages: str = "binutils") -> str:
    """The path of a program; raises Missing, which says what to install, if it is not on PATH."""
    path = shutil.which(name)
    if path is None:
        raise Missing(f"{name} not found on PATH: install {what} (Debian: apt install {packages})")
    return path


@lru_cache(maxsize=8)
def _target(path: str) -> str:
    """The system that a compiler makes programs for, such as x86_64-linux-gnu; empty if it does not say."""
    return subprocess.run([path, "-dumpmachine"], capture_output=True, text=True, check=False).stdout.strip()


def find_gcc() -> Compiler:
    """The gcc on PATH. Raises Missing if there is none, or if it makes programs for musl."""
    path = find_tool("gcc", "it and the C library's headers", "gcc libc6-dev")
    found = Compiler(path, _version(path))
    if "musl" in _target(path):
        raise Missing(
            f"{path} makes programs for musl ({_target(path)}), which is not supported: heapsmith needs glibc"
        )
    return found


@lru_cache(maxsize=8)
def links_with_gnu_ld(compiler: str | tuple[str, ...]) -> bool:
    """Whether a compiler, or the words that begin its command, links by GNU ld, and not by gold, lld or mold.

    Raises Missing if it cannot run.
    """
    try:
        return run_tool([*_words(compiler), "-Wl,--version"], "the linker").startswith("GNU ld")
    except CheckFailed:
        return False


def _words(compiler: str | tuple[str, ...]) -> tuple[str, ...]:
    return (compiler,) if isinstance(compiler, str) else compiler


def find_compiler(name: str) -> Compiler:
    """A compiler on PATH that takes gcc's options. Raises Missing if there is none."""
    path = find_tool(name, "it", name)
    return Compiler(path, _version(path))


_LACKS = re.compile(r"fatal error: (?:cannot (?:find|execute) '(\w+)'|installation problem)")
"""What gcc says where a program that it starts is not there: cc1, as, ld."""

_PACKAGES = {"as": "binutils", "ld": "binutils", "cc1": "gcc", "cc1plus": "g++"}


def _first_diagnostic(stderr: str) -> str:
    """The first error line of a tool, else its first line of any kind; not what collect2 makes of the linker's."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and not line.startswith("collect2: error:")]
    marks = ("error:", "undefined reference", "cannot find", "")
    return next((line for mark in marks for line in lines if mark in line), "no diagnostic")


def run_tool(command: Sequence[str], what: str, given: str | None = None) -> str:
    """The output of a tool that works on `what` and reads `given`.

    Raises Missing if it, or a program that it starts, cannot run; CheckFailed with its first diagnostic if it fails.
    """
    environment = os.environ | {"LC_ALL": "C"}
    for unwanted in ("LD_PRELOAD", "DEBUGINFOD_URLS"):  # no tool downloads anything
        environment.pop(unwanted, None)
    try:
        done = subprocess.run(
            command,
            input=given,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
            timeout=TOOL_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        raise CheckFailed(
            f"{Path(command[0]).name} on {what}: killed: it had not ended after {TOOL_LIMIT_S:.0f} s"
        ) from None
    except OSError as error:
        raise Missing(f"{command[0]} cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        tool, diagnostic = Path(command[0]).name, _first_diagnostic(done.stderr)
        said = f"{tool} failed on {what} (status {done.returncode}): {diagnostic}"
        if lacks := _LACKS.search(diagnostic):
            package = _PACKAGES.get(lacks[1] or "")
            raise Missing(f"{said}; install {package}" if package else said)
        raise CheckFailed(said)
    return done.stdout


def complaints(compiler: Sequence[str], text: str, what: str, language: str = "c") -> list[str]:
    """The first error or warning of a compiler, with its options, for a text; empty if none."""
    try:
        run_tool([*compiler, "-Werror", "-S", "-o", os.devnull, "-x", language, "-"], what, text)
    except CheckFailed as error:
        return [str(error)]
    return []


def compile_c(
    sources: Sequence[Path],
    out: Path,
    *,
    flags: Sequence[str] = (),
    include: Sequence[Path] = (),
    compiler: str | tuple[str, ...] | None = None,
) -> Path:
    """Compile and link `sources` into `out`, which appears whole or not at all; returns `out`.

    Libraries (`-l...`) go behind the sources, as the linker requires; other flags go before.
    compiler: a program that takes gcc's options, or the words that begin its command; by default the gcc
    on PATH. Raises Missing without
    it or where `out` cannot be written, CheckFailed with its first diagnostic.
    """
    gcc = compiler or find_gcc().path
    if "ziglang" in _words(gcc):
        flags = ["-fomit-frame-pointer", *(own for flag in flags for own in _OTHER_IN_ZIG.get(flag, (flag,)))]
    before = [flag for flag in flags if not flag.startswith("-l")]
    libraries = [flag for flag in flags if flag.startswith("-l")]
    paths = [f"-I{path}" for path in include] + [str(source.absolute()) for source in sources]
    with staged(out, Missing) as built:
        names = ", ".join(source.name for source in sources)
        run_tool([*_words(gcc), *before, *paths, "-o", str(built), *libraries], names)
    return out


class Tool(NamedTuple):
    """A small program or shared object of C files. include: folders of headers. flags: the compiler's options."""

    name: str
    sources: Sequence[Path]
    flags: Sequence[str] = TOOL_FLAGS
    include: Sequence[Path] = ()

    def ready(self, compiler: str | None = None) -> Path:
        """The executable or shared object (by `flags`), from the cache, compiled, or as the package brings it.

        The cache is `cache_dir()/tools`. Its key is that of `key`. Entries are renamed into place, so several
        processes may build the same tool at once. compiler: a program on PATH that takes gcc's options, in place of
        gcc. Raises Missing (no compiler, cache not writable, source not installed) or CheckFailed with its first
        diagnostic.
        """
        try:
            gcc = find_compiler(compiler) if compiler else find_gcc()
        except Missing:
            if compiler is None and (brought := PREBUILT / self.file()).exists():
                return brought
            raise
        tool = cache_dir() / "tools" / f"{self.name}-{self.key(gcc)}"
        return tool if tool.exists() else self.compiled(tool, (gcc.path,))

    def compiled(self, out: Path, compiler: tuple[str, ...]) -> Path:
        """Compile into `out`; raises as `compile_c`."""
        return compile_c(self.sources, out, flags=self.flags, include=self.include, compiler=compiler)

    def file(self) -> str:
        """Its name in PREBUILT, whichever compiler made it."""
        return f"{self.name}-{self.key()}"

    def key(self, compiler: Compiler | None = None) -> str:
        """Hash of compiler, flags, sources, and the headers beside the sources and in `include`."""
        try:
            return self._key([compiler.path, compiler.version] if compiler else [])
        except OSError as error:
            raise Missing(f"{self.name}: its source {error.filename} cannot be read: {error.strerror}") from error

    def _key(self, words: Sequence[str]) -> str:
        folders = sorted({source.parent for source in self.sources} | set(self.include))
        headers = [header for folder in folders for header in sorted(folder.glob("*.h"))]
        digest = hashlib.sha256(os.fsencode("\0".join([*words, *self.flags])))
        for file in [*self.sources, *headers]:
            content = file.read_bytes()
            digest.update(f"\0{file.name}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()[:16]


def build_tool(
    name: str,
    sources: Sequence[Path],
    flags: Sequence[str] = TOOL_FLAGS,
    *,
    include: Sequence[Path] = (),
    compiler: str | None = None,
) -> Path:
    """A tool of these files, ready: see `Tool.ready`."""
    return Tool(name, sources, flags, include).ready(compiler)
