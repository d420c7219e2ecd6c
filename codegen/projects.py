"""Build files of a generated folder, for projects of CMake, Meson and Bazel that take the folder as it is.

Each has the library twice: linked into a program, whose malloc it then is, and libheap.so to preload. A project's own
warnings are not for it (-w).
"""

import re
from collections.abc import Mapping

from heapsmith.codegen.build import NO_INTERPOSITION
from heapsmith.model.design.design import Design

CMAKE = """# The malloc `@DESIGN@`: add_subdirectory(FOLDER), then
#   target_link_libraries(PROGRAM PRIVATE @NAME@)
# @NAME@_preload is libheap.so.
cmake_minimum_required(VERSION 3.16)
project(@NAME@ LANGUAGES C)

add_library(@NAME@ OBJECT heap.c)
target_compile_definitions(@NAME@ PRIVATE HEAPSMITH_ARCHIVE)
target_include_directories(@NAME@ SYSTEM INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}) # heapsmith.h
add_library(@NAME@_preload SHARED heap.c)
set_target_properties(@NAME@_preload PROPERTIES OUTPUT_NAME heap)
foreach(target @NAME@ @NAME@_preload)
  target_compile_options(${target} PRIVATE @FLAGS@ -pthread)
  set_target_properties(${target} PROPERTIES C_STANDARD 17 C_EXTENSIONS ON POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${target} PUBLIC pthread)
endforeach()
"""

MESON = """# The malloc `@DESIGN@`, as subprojects/@NAME@:
#   executable('program', 'program.c', dependencies: dependency('@NAME@', fallback: '@NAME@'))
# heapsmith_preload is libheap.so.
project('@NAME@', 'c', meson_version: '>=0.54', default_options: ['c_std=gnu17', 'warning_level=0'])
threads = dependency('threads')
flags = [@FLAGS@]

heapsmith = static_library(
  '@NAME@', 'heap.c', c_args: flags + ['-DHEAPSMITH_ARCHIVE'], pic: true, dependencies: threads)
heapsmith_preload = shared_library('heap', 'heap.c', c_args: flags, dependencies: threads)
heapsmith_dep = declare_dependency(
  link_whole: heapsmith, include_directories: include_directories('.', is_system: true), dependencies: threads)
meson.override_dependency('@NAME@', heapsmith_dep)
"""

BAZEL = """# The malloc `@DESIGN@`: `malloc` of a cc_binary, or one of its deps; libheap.so is to preload.
# MODULE.bazel needs bazel_dep(name = "rules_cc", version = "...").
load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library")

package(default_visibility = ["//visibility:public"])

FLAGS = [@FLAGS@, "-std=gnu17"]

cc_library(
    name = "parts",
    textual_hdrs = glob(["*.h", "runtime/**"]) + ["fast.c", "plan.c", "slow.c"],
)

cc_library(
    name = "@NAME@",
    srcs = ["heap.c"],
    copts = FLAGS,
    linkopts = ["-pthread"],
    linkstatic = True,
    local_defines = ["HEAPSMITH_ARCHIVE"],
    alwayslink = True,
    deps = [":parts"],
)

cc_binary(
    name = "libheap.so",
    srcs = ["heap.c"],
    copts = FLAGS,
    linkopts = ["-pthread"],
    linkshared = True,
    deps = [":parts"],
)
"""


def library_name(design: Design) -> str:
    """The name of a design's library in other languages and build systems."""
    return "heapsmith_" + re.sub(r"\W", "_", design.name)


def projects_of(design: Design) -> dict[str, str]:
    """The build files: text by name."""
    flags = ["-O2", "-w", NO_INTERPOSITION, *(flag for flag in design.compile_flags or () if flag != "-flto")]
    single, double = (", ".join(f"{mark}{flag}{mark}" for flag in flags) for mark in ("'", '"'))
    words = {"DESIGN": design.name, "NAME": library_name(design)}
    files = (("CMakeLists.txt", CMAKE, " ".join(flags)), ("meson.build", MESON, single), ("BUILD.bazel", BAZEL, double))
    return {name: filled(text, {**words, "FLAGS": its}) for name, text, its in files}


def filled(text: str, words: Mapping[str, str]) -> str:
    """A text with the words that it names as @WORD@."""
    return re.sub("@([A-Z]+)@", lambda match: words[match[1]], text)
