"""The Design: the choices of a person or the search; typed, from TOML, checked and hashed."""

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

import msgspec

from heapsmith.model import policy
from heapsmith.model.design.choices import (
    Background,
    BlockIndex,
    Classifier,
    Counting,
    Crash,
    Empties,
    Foreign,
    FreedBlocks,
    Front,
    Growth,
    Hardening,
    Heaps,
    HugeCache,
    Learner,
    Opening,
    Ownership,
    Pool,
    Populate,
    Prewarm,
    Release,
    Remote,
    Rounding,
    Sampling,
    Segregation,
    Shards,
    SizeLookup,
    SlabChoice,
    SlabRecord,
    Thp,
    Unmapping,
    derive_front,
    row_of,
)
from heapsmith.model.design.error_words import hint, in_words
from heapsmith.model.design.legal import why_not_legal
from heapsmith.model.design.spelled import spelled
from heapsmith.model.errors import BadInput, Refusal
from heapsmith.model.policy.front.common import FrontPlan
from heapsmith.model.toml_text import from_toml, read_text

"""A class number and its special values fit in a byte of the slab map."""

BUILTIN = Path(__file__).resolve().parent.parent / "designs"


def _doc(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


def _default(field: str) -> Any:
    """Return the field's value in a design that makes no choice: a name, or a policy's numbers."""
    row = policy.default(field)
    return msgspec.field(default_factory=row.Params) if hasattr(row, "Params") else row.NAME


class ClassFront(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The front of some size classes, if it differs from the design's."""

    sizes: Annotated[list[int], _doc("block sizes, bytes; each is in the design's sizes")]
    front: Annotated[Front, _doc("their front")]


class Design(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An allocator. Sizes are in bytes; every field except the name and the sizes has a default."""

    name: Annotated[str, _doc("a short name: letters, digits, '-' and '_'; not part of the hash")]
    sizes: Annotated[
        list[int], _doc("block sizes of the small classes, ascending: multiples of 16; with `grain` 8 also 8")
    ]
    about: Annotated[str, _doc("one line for people; not part of the hash")] = ""
    grain: Annotated[
        Literal[8, 16],
        _doc("step of the size table. 8 allows a class of 8 bytes; requests of 16 bytes or more are 16-aligned always"),
    ] = 16
    classifier: Annotated[Classifier, _doc("how free() finds a block's class")] = _default("classifier")
    slab_choice: Annotated[SlabChoice, _doc("which slab of a class serves a refill")] = _default("slab_choice")
    empties: Annotated[Empties, _doc("which classes an empty slab serves")] = _default("empties")
    remote: Annotated[Remote, _doc("where a block freed by another thread goes")] = _default("remote")
    slab_bytes: Annotated[int, _doc("a power of two, 4096 to 2097152")] = 65_536
    superslab_bytes: Annotated[int, _doc("a power of two, slab_bytes to 67108864: bytes of each map call")] = 2_097_152
    slab_span_bytes: Annotated[int, _doc("address space reserved for slabs: a power of two")] = 1 << 38
    run_span_bytes: Annotated[int, _doc("address space reserved for large blocks: a power of two")] = 1 << 38
    huge_bytes: Annotated[int, _doc("larger blocks get a mapping of their own")] = 33_554_432
    run_cache_bytes: Annotated[
        int, _doc("freed runs that each heap keeps: a multiple of 4096, at most 1073741824; 0: no cache")
    ] = 262_144
    run_cache_share_percent: Annotated[
        int,
        _doc(
            "share of the committed bytes that freed runs in the caches of all heaps may be, or a MiB if that is more; "
            "0: no such bound"
        ),
    ] = 0
    run_cache_after: Annotated[
        int,
        _doc("how often a heap's run cache fails to serve a request or to keep a freed run before it keeps any"),
    ] = 0
    run_cache_slack_percent: Annotated[
        int, _doc("how much longer than a request a run from a cache may be: at most 100; 0: of its pages exactly")
    ] = 0
    transfer_bytes: Annotated[
        int,
        _doc(
            "bytes of flushed batches of each class that wait in the transfer cache for another heap; 0: none. "
            "Only for classes whose fronts flush in batches, and only if all heaps share the store"
        ),
    ] = 0
    transfer_from_heaps: Annotated[
        int, _doc("heaps that must have been created before batches wait: with 2 a program of one thread has none")
    ] = 1
    thp: Annotated[
        Thp,
        _doc(
            "transparent huge pages, madvise(2): always: MADV_HUGEPAGE; grown: MADV_HUGEPAGE beyond "
            "thp_slabs_from_bytes and thp_runs_from_bytes; never: MADV_NOHUGEPAGE; system: no advice"
        ),
    ] = _default("thp")
    thp_slabs_from_bytes: Annotated[
        int, _doc("thp grown: bytes of superslabs that keep small pages: a multiple of 2097152")
    ] = 16_777_216
    thp_runs_from_bytes: Annotated[
        int,
        _doc(
            "thp grown: bytes of the run span that keep small pages: a multiple of 2097152. The rest lies on huge "
            "pages where the program writes what it asks for; with 0 all does"
        ),
    ] = 67_108_864
    foreign: Annotated[
        Foreign,
        _doc(
            "free() of another malloc's block: next hands it on, leak ignores it, abort ends the program if no other "
            "malloc is in use, probe makes a system call for each free(), trust looks at no pointer (for benchmarks)"
        ),
    ] = _default("foreign")
    front: Annotated[Front, _doc("the front of every class that class_front does not name")] = _default("front")
    class_front: Annotated[list[ClassFront], _doc("fronts of single classes")] = msgspec.field(default_factory=list)
    release: Annotated[Release, _doc("which pages go back to the OS")] = _default("release")
    hardening: Annotated[Hardening, _doc("what misuse the heap looks for")] = _default("hardening")

    prewarm: Annotated[Prewarm | None, _doc("what a new heap prepares: a later start, fewer misses then")] = None
    block_index: Annotated[BlockIndex | None, _doc("division is slow, shift needs sizes of powers of two")] = None
    freed_blocks: Annotated[
        FreedBlocks | None,
        _doc(
            "how a slab keeps its freed blocks: list, through the blocks themselves, the newest first; "
            "by default a bitmap, the lowest first"
        ),
    ] = None
    huge_cache: Annotated[HugeCache | None, _doc("freed huge mappings wait: fewer faults, more memory")] = None
    slab_record: Annotated[SlabRecord | None, _doc("where slabs' numbers lie: what refills and frees touch")] = None
    background: Annotated[Background | None, _doc("a helper thread refills the transfer cache: one more core")] = None
    pool: Annotated[Pool | None, _doc("what heaps that own slabs lock to take slabs from the pools they share")] = None
    ownership: Annotated[
        Ownership | None,
        _doc(
            "what a heap owns where blocks go back to their owner: superslab, whole superslabs, so that a block's "
            "address names the owner, which costs memory; by default slabs, whose records name it"
        ),
    ] = None
    unmapping: Annotated[Unmapping | None, _doc("unused superslabs are unmapped: less memory, more calls")] = None
    shards: Annotated[Shards | None, _doc("parts of the store that all heaps share: threads wait less")] = None
    growth: Annotated[Growth | None, _doc("superslabs that become usable together: fewer system calls")] = None
    thp_block_bytes: Annotated[
        int | None, _doc("thp grown: superslabs for longer blocks keep small pages: 0 to 2097152; by default 4096")
    ] = None
    remap_bytes: Annotated[
        int | None,
        _doc(
            "when realloc must move a run to grow it, and the new size is at least this (a multiple of 4096), the run "
            "gets a mapping of its own, whose pages move without a copy; by default none does"
        ),
    ] = None
    populate: Annotated[Populate | None, _doc("pages resident together: less time per page, more pages")] = None

    rounding: Annotated[
        Rounding | None,
        _doc(
            "how much larger the class may be whose front serves a request if that of its own class is empty: "
            "fewer calls of the store, more waste"
        ),
    ] = None
    learner: Annotated[
        Learner | None,
        _doc("capacities that follow each thread's misses and flushes: fewer of them, for more memory or for less"),
    ] = None
    opening: Annotated[
        Opening | None, _doc("misses before an array stack keeps blocks: threads that use a class once hold none of it")
    ] = None
    segregation: Annotated[
        Segregation | None,
        _doc("which calls get blocks from slabs of their own: less memory where one size lives long and short"),
    ] = None
    sampling: Annotated[
        Sampling | None, _doc("samples of what the program asks for, for profiles of a live heap: a few instructions")
    ] = None
    dispatch: Annotated[
        Literal["row", "class"] | None,
        _doc(
            "row: malloc() and free() pop and push the array stacks of all classes by one text; class: they jump to an "
            "alloc and a free of each class (docs/lab/dispatch.md); by default row if a class has an array stack"
        ),
    ] = None
    bounded: Annotated[bool | None, _doc("the audit proves bounds of malloc() and free() (docs/compare.md)")] = None
    heaps: Annotated[Heaps | None, _doc("processor: for each processor, not each thread: few idle blocks")] = None
    compile_flags: Annotated[
        list[Literal["-O3", "-march=native", "-flto"]] | None,
        _doc("flags of gcc(1) behind -O2 and the others; with -march=native the library runs on this processor alone"),
    ] = None
    counting: Annotated[
        Counting | None,
        _doc("everything: the library counts hits, locks and system calls too (docs/api.md); each hit takes longer"),
    ] = None
    crash: Annotated[
        Crash | None,
        _doc("named: a fault in the heap's own code, or a second free that reaches a slab, prints a line first"),
    ] = None
    size_lookup: Annotated[
        SizeLookup | None,
        _doc("how malloc() finds the class of a size: by tables (one for each heap, or one for all), or computed"),
    ] = None

    def __post_init__(self) -> None:
        """Forget choices that a design has without stating them, so that equal designs have equal hashes."""
        for field, values in policy.UNSTATED.items():
            if getattr(self, field) in values:
                msgspec.structs.force_setattr(self, field, None)

    def why_not_valid(self) -> Refusal | None:
        """Return why this design cannot be built, or None."""
        return why_not_legal(self)

    def row(self, field: str) -> ModuleType:
        """Return the row of the policy that a field names (model/policy)."""
        chosen = getattr(self, field)
        return row_of(chosen) if isinstance(chosen, msgspec.Struct) else _row(field, chosen)

    def region_bytes(self) -> int:
        """Return the address range of a class's region: a power of two that fits for all."""
        return 1 << ((self.slab_span_bytes // len(self.classes())).bit_length() - 1)

    def classes(self) -> list[tuple[int, int]]:
        """Return the block size of each class and its group of call sites: 0, then those of groups alone."""
        sized = [(size, 0) for size in self.sizes]
        return sized + (self.row("segregation").extra_classes(self.segregation) if self.segregation else [])

    def front_of(self, size: int) -> Front:
        """Return the front of the class of this block size."""
        return next((exception.front for exception in self.class_front if size in exception.sizes), self.front)

    def front_plan(self, size: int) -> FrontPlan:
        """Return the plan of the front of the class of this block size."""
        return derive_front(self.front_of(size), size)

    def hash(self) -> str:
        """Return 12 hex digits of the content: equal for designs of a heap under any name."""
        content = msgspec.structs.replace(self, name="", about="")
        return hashlib.sha256(msgspec.json.encode(stated(content))).hexdigest()[:12]


@cache
def _row(field: str, chosen: str | int | None) -> ModuleType:
    """Return the row of a choice that has no numbers of its own: a search asks a million times."""
    if chosen is None:
        return policy.default(field)
    return policy.row_of_number(field, chosen) if isinstance(chosen, int) else policy.row(field, chosen)


def ask_sites(designs: Iterable[Design]) -> bool:
    """Return whether one of the designs asks for the call sites of a trace."""
    return any(design.segregation is not None for design in designs)


def stated(design: Design) -> dict[str, Any]:
    """Return the fields of a design by name, without those of mechanisms that it does not use.

    Such a field is None. So a new mechanism changes no hash and no emitted file of a design without
    it.
    """
    return {field: value for field in design.__struct_fields__ if (value := getattr(design, field)) is not None}


def _in_words(error: str) -> str:
    return in_words(error, (Design, ClassFront))


def parse(text: str, source: str) -> Design:
    """Return the design of a TOML text; BadInput names `source`, field and expectation."""
    return made(from_toml(text, source, dict[str, Any], str), source)


def _legal(design: Design, source: str) -> Design:
    if refusal := design.why_not_valid():
        raise BadInput(f"{source}: {refusal}")
    return design


def changed(base: Design, name: str, fields: Mapping[str, Any]) -> Design:
    """Return `base` with these fields ("off" for None), a name and no remark; BadInput if it is invalid."""
    given = {field: None if policy.is_off(field, value) else value for field, value in fields.items()}
    return made({**msgspec.to_builtins(base), "about": "", **given, "name": name}, name)


def made(content: Mapping[str, Any], source: str) -> Design:
    """Return the design of these fields; BadInput names `source`, field and expectation."""
    try:
        design = msgspec.convert(spelled(content), Design)
    except msgspec.ValidationError as error:
        raise BadInput(f"{source}: {_in_words(str(error))}") from None
    return _legal(design, source)


def load(spec: str) -> Design:
    """Return the built-in design of a name, or the design of a TOML file; else BadInput.

    A file or folder here that has the name of a built-in design does not hide it: `./lean` names the file.
    """
    path = Path(spec)
    if spec in builtin_names():
        path = BUILTIN / f"{spec}.toml"
    elif not (path.suffix == ".toml" or path.exists()):
        raise BadInput(f"{spec}: neither a design file nor a built-in design{hint(spec, builtin_names())}")
    return parse(read_text(path, spec), spec)


def builtin_names() -> list[str]:
    """Return the names of the built-in designs."""
    return sorted(path.stem for path in BUILTIN.glob("*.toml"))


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a design file (for editors), draft 2020-12."""
    return msgspec.json.schema(Design)
