"""The inputs of the real programs: generated files that are the same on every machine.

Their content depends only on sizes and on `seed`, or on the `first` number of numbered items.
"""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

from heapsmith.model.errors import Missing
from heapsmith.model.files import write_text

WORDS = ("alpha", "beta", "gamma", "delta")

SQL = """
create table t(a integer, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < {rows})
  insert into t select x, hex(x * {factor}) from c;
create index i on t(b);
select count(*), max(b), sum(length(b)) from t;
select a % 97, count(*), group_concat(a) from t where a % 13 = 0 group by 1 order by 2, 1 limit 20;
delete from t where a % 3 = 0;
select b from t order by b desc limit 10;
"""

DOCUMENTS = """
create table t(a integer primary key, b text, j text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < {rows})
  insert into t select x, hex(x * {factor} % 9973),
    json_object('k', x, 'v', hex(x * {factor}), 'l', json_array(x, x + 1, x * 2)) from c;
create index i on t(b);
create index v on t(json_extract(j, '$.v'));
create virtual table f using fts5(body);
insert into f select b || ' word' || (a % 997) || ' ' || j from t;
select count(*) from f where f match 'word5*';
select sum(json_extract(j, '$.k')), count(distinct json_extract(j, '$.v')) from t;
select length(json_group_array(j)) from t;
delete from t where a % 3 = 0;
vacuum;
insert into f(f) values('optimize');
select count(*) from t x join t y on x.b = y.b;
"""

STYLE = """\
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:x="urn:x">
<xsl:key name="named" match="x:item" use="x:name"/>
<xsl:template match="/"><all><xsl:for-each select="//x:item"><xsl:sort select="x:name"/>
<one><xsl:value-of select="x:name"/>-<xsl:value-of select="count(key('named', x:name))"/>-<xsl:value-of
select="concat(@id, count(*))"/></one></xsl:for-each></all></xsl:template>
</xsl:stylesheet>
"""

CLASS = """
struct T{k} {{ std::map<std::string, std::vector<std::tuple<int, T{before}*, std::string>>> rows; }};
template <> struct Job<{k}> {{
    std::variant<int, std::string, std::unique_ptr<T{k}>> held;
    std::size_t run(const std::vector<std::string> &names) {{
        T{k} t;
        for (const auto &name : names) t.rows[name + "{k}"].emplace_back({k}, nullptr, name);
        auto last = std::accumulate(t.rows.begin(), t.rows.end(), std::size_t{{0}},
            [](std::size_t sum, const auto &row) {{ return sum + std::get<2>(row.second.front()).size(); }});
        std::sort(t.rows.begin()->second.begin(), t.rows.begin()->second.end());
        held = std::make_unique<T{k}>(std::move(t));
        return last + held.index() + Job<{before}>().run(names);
    }}
}};
"""

HEADERS = "algorithm map memory numeric string tuple variant vector"

MAKEFILE = """\
parts := $(patsubst %.c,%.o,$(sort $(wildcard part*.c)))
all: program ; @./program; cksum $(parts)
program: $(parts) ; @$(CC) -o $@ $^
%.o: %.c ; @$(CC) -O1 -c -o $@ $<
"""


def _write(path: Path, content: str) -> None:
    write_text(path, content, Missing)


def factor(seed: int) -> int:
    """The factor of an input's numbers, modulo primes below 10,000."""
    return 7819 + 100 * seed


def text(path: Path, lines: int, seed: int = 1) -> Path:
    """Lines of eight words each; one word in five is the line's own."""
    words = random.Random(seed)
    _write(
        path, "".join(" ".join(words.choice((*WORDS, f"n{line}")) for _ in range(8)) + "\n" for line in range(lines))
    )
    return path


def tree(folder: Path, files: int, seed: int = 1) -> Path:
    """Folders of ten text files each."""
    for number in range(files):
        branch = folder / f"branch{number // 10}"
        branch.mkdir(parents=True, exist_ok=True)
        text(branch / f"text{number}.txt", 100 + number * 37 * seed % 400, seed)
    return folder


def sql(path: Path, rows: int, seed: int = 1) -> Path:
    """A script that fills, indexes and queries a table."""
    _write(path, SQL.format(rows=rows, factor=factor(seed)))
    return path


def documents(path: Path, rows: int, seed: int = 1) -> Path:
    """A script over a table of JSON with its indices, a full-text index, and a vacuum."""
    _write(path, DOCUMENTS.format(rows=rows, factor=factor(seed)))
    return path


def style(path: Path) -> Path:
    """A stylesheet that sorts and counts the items of `xml`."""
    _write(path, STYLE)
    return path


def objects(path: Path, count: int, seed: int = 1) -> Path:
    """A JSON array of objects with strings, numbers and arrays."""
    rows = [
        {"id": k, "name": f"n{k * factor(seed) % 499}", "tags": [str(k * j % 977) for j in range(k * seed % 7)]}
        for k in range(count)
    ]
    _write(path, json.dumps(rows))
    return path


def graph(path: Path, nodes: int, seed: int = 1) -> Path:
    """A directed graph in graphviz's language: two edges from each node."""
    edges = "".join(f"n{k} -> n{(k * factor(seed) + j * 7) % nodes};\n" for k in range(nodes) for j in (1, 2))
    _write(path, f"digraph g {{\n{edges}}}\n")
    return path


def c_source(path: Path, functions: int, first: int = 0) -> Path:
    """C functions with a loop, a branch and a string each."""
    _write(
        path,
        "".join(
            f"int f{k}(int a, int b) {{ int s = 0; "
            f"for (int i = 0; i < a; i++) {{ s += i * b + {k}; if (s % 7 == {k % 7}) s ^= b; }} "
            f'return s + (b ? 0 : "{"x" * (k % 40)}"[0]); }}\n'
            for k in range(first, first + functions)
        ),
    )
    return path


def cxx_source(path: Path, classes: int, first: int = 0) -> Path:
    """C++: a chain of classes with their own instances of containers, algorithms and lambdas."""
    head = "".join(f"#include <{name}>\n" for name in HEADERS.split())
    base = f"struct T{first} {{}};\ntemplate <int> struct Job;\n"
    base += (
        f"template <> struct Job<{first}> {{ std::size_t run(const std::vector<std::string> &) {{ return 0; }} }};\n"
    )
    last = first + classes
    chain = "".join(CLASS.format(k=k, before=k - 1) for k in range(first + 1, last + 1))
    tail = f"std::size_t all(const std::vector<std::string> &names) {{ return Job<{last}>().run(names); }}\n"
    _write(path, head + base + chain + tail)
    return path


def make_project(folder: Path, parts: int, first: int = 0) -> Path:
    """A makefile, sources to compile and link, and a program that prints the functions' results."""
    folder.mkdir(exist_ok=True)
    for part in range(parts):
        c_source(folder / f"part{part:02}.c", 5, first + 5 * part)
    names = [f"f{k}" for k in range(first, first + 5 * parts)]
    calls = "".join(f'printf("%d\\n", {name}(5, 3));' for name in names)
    declared = "".join(f"int {name}(int, int);\n" for name in names)
    _write(folder / "part_main.c", f"#include <stdio.h>\n{declared}int main(void) {{ {calls} }}\n")
    _write(folder / "Makefile", MAKEFILE)
    return folder


def xml(path: Path, items: int, seed: int = 1) -> Path:
    """Nested items with attributes, text, comments, an entity and two namespaces."""
    rows = "".join(
        f'<item id="{k}" a:kind="{WORDS[k % 4]}"><name>item &amp; {k * factor(seed) % 977}&word;</name>'
        f"{''.join(f'<a:tag n={chr(34)}{j}{chr(34)}/>' for j in range(k * seed % 5))}<!-- {k} --></item>"
        for k in range(items)
    )
    _write(path, f'<!DOCTYPE all [<!ENTITY word "text">]><all xmlns="urn:x" xmlns:a="urn:a">{rows}</all>\n')
    return path


def smt(path: Path, queens: int, bits: int, seed: int = 1) -> Path:
    """SMT-LIB: queens on a board (integers), a product to factor (bit vectors), unequal arrays."""
    columns = [f"q{k}" for k in range(queens)]
    board = "".join(f"(declare-const {q} Int)(assert (and (<= 0 {q}) (< {q} {queens})))\n" for q in columns)
    board += f"(assert (distinct {' '.join(columns)}))\n"
    for k, q in enumerate(columns):
        for far, other in enumerate(columns[k + 1 :], start=1):
            board += f"(assert (not (= {q} (+ {other} {far}))))(assert (not (= {q} (- {other} {far}))))\n"
    wide = f"(_ BitVec {2 * bits})"
    product = ((1 << bits) - 5) * ((1 << (bits - 1)) + 7 + 2 * seed)
    factors = f"(declare-const x {wide})(declare-const y {wide})(assert (= (bvmul x y) (_ bv{product} {2 * bits})))\n"
    factors += "".join(
        f"(assert (bvult (_ bv1 {2 * bits}) {v}))(assert (bvult {v} (_ bv{1 << bits} {2 * bits})))" for v in "xy"
    )
    writes, step = "a", (7, 11, 13, 17)[(seed - 1) % 4]
    for k in range(60):
        writes = f"(store {writes} (+ i {k * step % 60}) (f (+ i {k * step % 60})))"
    arrays = "(declare-const a (Array Int Int))(declare-const i Int)(declare-fun f (Int) Int)\n"
    arrays += f"(assert (distinct (select {writes} (+ i 31)) (f (+ i 31))))\n"
    goals = ((board, ""), (factors, "(get-value ((bvmul x y)))"), (arrays, ""))
    _write(path, "".join(f"(push)\n{goal}(check-sat){ask}\n(pop)\n" for goal, ask in goals))
    return path


def repository(folder: Path, commits: int, seed: int = 1) -> Path:
    """A git repository with constant hashes: fixed names and dates, no configuration of the user.

    Each commit changes one of 11 files of 200 lines; git-fast-import(1) reads them as one stream.
    """
    if folder.exists() or shutil.which("git") is None:
        return folder
    stream = []
    for commit in range(commits):
        content = "".join(f"{commit} {line * commit * seed % 89}\n" for line in range(200))
        message = f"change {commit}"
        stream.append(
            f"commit refs/heads/main\ncommitter heapsmith <heapsmith> {1_700_000_000 + commit} +0000\n"
            f"data {len(message)}\n{message}\nM 644 inline file{commit % 11}.txt\ndata {len(content)}\n{content}\n"
        )
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], env=environment, check=True)
    import_ = ["git", "-C", str(folder), "fast-import", "--quiet"]
    subprocess.run(import_, input="".join(stream).encode(), env=environment, check=True)
    return folder
