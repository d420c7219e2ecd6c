"""Programs that read the profiles of heapsmith, where they are installed or can be had; else tests are skipped."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from preloaded import PROGRAMS

from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.files import cache_dir
from heapsmith.tools.record.record import record

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAMEGRAPH = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
"""Of Debian's libdevel-nytprof-perl."""


def traces_of_program(folder: Path) -> tuple[Path, Path]:
    """Two traces of tests/programs/profile_paths.c with call stacks: of all its requests, and of fewer."""
    compile_c([PROGRAMS / "profile_paths.c"], folder / "paths", flags=("-O1", "-g", "-fno-builtin"))
    for name, *words in (("all",), ("less", "less")):
        record([str(folder / "paths"), *words], folder / f"{name}.hst", stacks=64)
    return folder / "all.hst", folder / "less.hst"


def ran(*words: str | Path, text: str | None = None) -> str:
    """What a program prints; it must succeed."""
    done = subprocess.run(list(map(str, words)), input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def pprof() -> list[str]:
    """The command pprof, of Go or by itself."""
    if shutil.which("pprof"):
        return ["pprof"]
    if not shutil.which("go"):
        pytest.skip("no pprof (package golang-go)")
    said = subprocess.run(["go", "tool", "pprof", "-h"], capture_output=True, text=True, check=False)
    if "-diff_base" not in said.stdout + said.stderr:
        pytest.skip("go has no tool pprof")
    return ["go", "tool", "pprof"]


def flamegraph() -> list[str]:
    """The commands that make a flame graph of collapsed stacks, of those that are there the first."""
    if inferno := shutil.which("inferno-flamegraph"):
        return [inferno]
    if not Path(FLAMEGRAPH).exists() or not shutil.which("perl"):
        pytest.skip("no flame graphs (package libdevel-nytprof-perl, or cargo's inferno)")
    return ["perl", FLAMEGRAPH]


def npm_package(name: str, version: str) -> Path:
    """The folder of a package of npm in the cache, to which npm brings it once."""
    folder = cache_dir() / "viewers" / f"{name.removeprefix('@').replace('/', '-')}-{version}"
    if not folder.exists():
        if not shutil.which("npm"):
            pytest.skip("no npm")
        folder.parent.mkdir(parents=True, exist_ok=True)
        words = ["npm", "pack", "--silent", "--fetch-retries=0", f"{name}@{version}"]
        try:
            done = subprocess.run(words, cwd=folder.parent, capture_output=True, check=False, timeout=300)
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm does not bring {name}")
        packed = folder.with_name(f"{folder.name}.tgz")
        if done.returncode != 0 or not packed.exists():
            pytest.skip(f"npm does not bring {name}: no network?")
        shutil.unpack_archive(packed, folder, filter="data")
        packed.unlink()
    return folder / "package"


def chromium() -> Iterator[Any]:
    """A headless browser of the distribution, driven by Playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if BROWSER is None:
        pytest.skip("no Chromium (package chromium)")
    with playwright.sync_playwright() as driver:
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=BROWSER, args=root)
        yield browser
        browser.close()


def opened(browser: Any, page: Path) -> tuple[Any, list[str]]:
    """A page in the browser, offline, and what it writes to the console as errors."""
    tab, said = browser.new_context(offline=True).new_page(), list[str]()
    tab.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(page.as_uri())
    return tab, said


def dh_view() -> Path:
    """The page of valgrind that shows profiles of DHAT."""
    pages = [Path(folder) / "valgrind/dh_view.html" for folder in ("/usr/libexec", "/usr/lib", "/usr/share")]
    for page in pages:
        if page.exists():
            return page
    pytest.skip("no dh_view.html (package valgrind)")


PDATA = "go.opentelemetry.io/collector/pdata/pprofile"
"""The collector's module that reads OTLP's profiles."""
DECODER = f"""package main

import ("fmt"; "os"; "{PDATA}")

func main() {{
\tdata, err := os.ReadFile(os.Args[1])
\tif err != nil {{ panic(err) }}
\tread, err := (&pprofile.ProtoUnmarshaler{{}}).UnmarshalProfiles(data)
\tif err != nil {{ panic(err) }}
\tdict := read.Dictionary()
\ttext := dict.StringTable()
\tprofiles := read.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles()
\tfor _, profile := range profiles.All() {{
\t\tfor _, sample := range profile.Samples().All() {{
\t\t\tplaces := dict.StackTable().At(int(sample.StackIndex())).LocationIndices()
\t\t\tline := dict.LocationTable().At(int(places.At(0))).Lines().At(0)
\t\t\tfunction := dict.FunctionTable().At(int(line.FunctionIndex()))
\t\t\tfmt.Printf("%s\\t%s\\t%s\\t%d\\t%d\\n", text.At(int(profile.SampleType().TypeStrindex())),
\t\t\t\ttext.At(int(function.NameStrindex())), text.At(int(function.FilenameStrindex())), line.Line(),
\t\t\t\tsample.Values().At(0))
\t\t}}
\t}}
}}
"""


def otlp_decoder(version: str = "v0.165.0") -> Path:
    """A program in the cache that prints what the collector's module reads; Go builds it once."""
    folder = cache_dir() / "viewers" / f"pprofile-{version}"
    program = folder / "decode"
    if not program.exists():
        if not shutil.which("go"):
            pytest.skip("no go (package golang-go)")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "main.go").write_text(DECODER)
        (folder / "go.mod").write_text(f"module decode\n\ngo 1.25\n\nrequire {PDATA} {version}\n")
        try:
            for words in (["mod", "tidy"], ["build", "-o", "decode", "."]):
                done = subprocess.run(
                    ["go", *words],
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=300,
                    env=os.environ | {"GOTOOLCHAIN": "local"},
                )
                if done.returncode != 0:
                    pytest.skip(f"go does not build a program with {PDATA}: {done.stderr[-200:]}")
        except subprocess.TimeoutExpired:
            pytest.skip(f"go does not bring {PDATA}")
    return program
