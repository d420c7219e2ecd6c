"""The build files of a generated folder: projects of CMake, Meson and Bazel take it in as it is."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from systems import PROGRAMS
from traces import random_trace

from heapsmith.codegen.projects import projects_of
from heapsmith.codegen.ship import ship
from heapsmith.codegen.verify import verify
from heapsmith.model.design.design import load
from heapsmith.tools.common.preload import preloadable

DESIGN = "lock-free-claims"
NAME = "heapsmith_lock_free_claims"
CMAKE = f"""
cmake_minimum_required(VERSION 3.16)
project(example C)
add_compile_options(-Wall -Wextra -Werror)
add_subdirectory(heap)
add_executable(program program.c)
target_link_libraries(program PRIVATE {NAME})
add_executable(plain program.c)
target_link_libraries(plain PRIVATE pthread)
"""
MESON = f"""
project('example', 'c', default_options: ['warning_level=2', 'werror=true'])
heap = dependency('{NAME}', fallback: '{NAME}')
executable('program', 'program.c', dependencies: [heap, dependency('threads')])
executable('plain', 'program.c', dependencies: dependency('threads'))
"""
BAZEL = f"""
cc_binary(name = "program", srcs = ["program.c"], deps = ["//heap:{NAME}"], linkopts = ["-pthread"])
cc_binary(name = "by_malloc", srcs = ["program.c"], malloc = "//heap:{NAME}", linkopts = ["-pthread"])
cc_binary(name = "plain", srcs = ["program.c"], linkopts = ["-pthread"])
"""
BAZEL_PACKAGE = "@bazel/bazel-linux_x64@2.1.0"
"""The one release of Bazel that a package index has. Its rules are built in, and stand in those packages' places."""
BUILT_IN = {
    "rules_cc/cc": "cc_binary cc_import cc_library cc_proto_library cc_test cc_toolchain cc_toolchain_suite "
    "objc_import objc_library",
    "rules_java/java": "java_binary java_import java_library java_lite_proto_library java_package_configuration "
    "java_plugin java_proto_library java_runtime java_test java_toolchain",
    "rules_proto/proto": "proto_lang_toolchain proto_library",
    "rules_python/python": "py_binary py_library py_runtime py_test",
}


def do(folder: Path, *words: str | Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning: " not in done.stdout + done.stderr


def said(program: Path, library: Path | None = None) -> str:
    environment = {"PATH": os.environ["PATH"]} | ({"LD_PRELOAD": preloadable(library)} if library else {})
    return subprocess.run([program], env=environment, capture_output=True, text=True, check=True).stdout.strip()


def project(folder: Path, name: str, text: str, heap: str) -> Path:
    """A project of a program and a generated folder."""
    folder.mkdir()
    shutil.copy(PROGRAMS / "whose_malloc.c", folder / "program.c")
    (folder / name).write_text(text)
    ship(load(DESIGN), folder / heap)
    return folder


def by_cmake(folder: Path) -> Path:
    at = project(folder, "CMakeLists.txt", CMAKE, "heap")
    do(at, "cmake", "-S", ".", "-B", "out", "-DCMAKE_BUILD_TYPE=Debug")
    do(at, "cmake", "--build", "out")
    return at / "out"


def by_meson(folder: Path) -> Path:
    at = project(folder, "meson.build", MESON, f"subprojects/{NAME}")
    do(at, "meson", "setup", "out")
    do(at, "meson", "compile", "-C", "out")
    return at / "out"


@pytest.mark.thorough
@pytest.mark.parametrize(("tools", "made"), [(("cmake", "make"), by_cmake), (("meson", "ninja"), by_meson)])
def test_a_project_takes_the_folder_in(tools: tuple[str, ...], made: Callable[[Path], Path], tmp_path: Path) -> None:
    """The program has the library's malloc, the plain one under libheap.so too, which is the model's heap."""
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    out = made(tmp_path / "with space")
    (library,) = out.rglob("libheap.so")
    assert said(out / "program") == "heapsmith"
    assert (said(out / "plain"), said(out / "plain", library)) == ("another", "heapsmith")
    trace = random_trace(tmp_path / "t.hst", 2000, 3, max_size=100_000)
    assert verify(load(DESIGN), [trace], audit=False, release=library).ok


@pytest.mark.big
def test_bazel_takes_the_folder_in(tmp_path: Path) -> None:
    """By the one release that npm has, which reaches no registry: its own rules stand in for those of packages."""
    if shutil.which("npm") is None:
        pytest.skip("not installed: npm")
    do(tmp_path, "npm", "install", "--silent", BAZEL_PACKAGE)
    (bazel,) = tmp_path.glob("node_modules/@bazel/*/bazel-*")
    at = project(tmp_path / "project", "BUILD", BAZEL, "heap")
    for place, rules in BUILT_IN.items():
        repository = at / place.partition("/")[0]
        (at / place).mkdir(parents=True)
        for empty in (repository / "WORKSPACE", repository / "BUILD", at / place / "BUILD"):
            empty.touch()
        (at / place / "defs.bzl").write_text("".join(f"{rule} = native.{rule}\n" for rule in rules.split()))
        with (at / "WORKSPACE").open("a") as file:
            file.write(f'local_repository(name = "{repository.name}", path = "{repository.name}")\n')
    targets = ("//:program", "//:by_malloc", "//:plain", "//heap:libheap.so")
    root = tmp_path / "root"
    try:
        do(at, bazel, f"--output_user_root={root}", "--batch", "build", *targets)
        out = at / "bazel-bin"
        assert (said(out / "program"), said(out / "by_malloc")) == ("heapsmith", "heapsmith")
        assert (said(out / "plain"), said(out / "plain", out / "heap" / "libheap.so")) == ("another", "heapsmith")
    finally:
        subprocess.run(["chmod", "-R", "u+w", root], check=True)  # for pytest, which removes it


def test_flags_of_a_design_are_in_each_file() -> None:
    files = projects_of(load("default"))
    assert {name: text.count("-O2") for name, text in files.items()} == dict.fromkeys(files, 1)
    assert not any("@" in text.replace('"@rules_cc', "") for text in files.values())
