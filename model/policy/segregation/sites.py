"""Segregation by site: the instruction that calls malloc tells the class, for some sizes."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory import layout
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.front_questions import size_lines
from heapsmith.model.trace.stacks import CallTree

NAME = "sites"
STATE = {"scalars": {"group": 0}}
"""The group of the call site of the event under way."""
RARE = True
NUMBERS = ("site_groups", "sized_classes", "site_count", "site_modules", "site_slots")
CLASS_NUMBERS = ("sized_row",)
"""1 + the class, in which malloc looks by the size alone; 0, no class: the call's site tells the class."""
SIZES_ALONE = True
MOST_GROUPS = 15
MOST_SITES = 4096
MOST_DIGITS = 80
LEAST_SLOTS = 512
"""Words of the library's table of calls that it has seen: a page, at least four for each site."""
NO_SITES = ("libstdc++.so", "libc++.so", "libc++abi.so")
"""Files whose calls of malloc the library does not see, because it has operator new itself."""
LINE = 64
"""Bytes of a cache line."""
COSTS = {"alloc.site": 41.0}
"""By hand: callgrind, a loop of malloc and free of a size whose caller is looked up, and of one whose is not."""


class Site(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An instruction that calls malloc or its kin.

    module: the name of its file, for people; build_id: the file's build id, in hexadecimal digits;
    offset: of the last byte of the call in the file, as in the column `site` of a trace.
    """

    module: str
    build_id: str
    offset: int


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sites whose blocks are apart from those of all others, in slabs of their own.

    sizes: of the classes that are apart; sites: the calls.
    """

    sizes: list[int]
    sites: list[Site]


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Blocks of one size that live long lie apart from those that die soon, so that slabs empty.

    groups: of call sites, numbered from 1; group 0 are all others. The names hold for one build of
    each file. A malloc of a size that is apart looks up its caller; each group and size has slabs
    of its own, which a small heap does not fill.
    """

    groups: list[Group]


def why_not_valid(params: Params) -> str | None:
    """Return why there are no such groups, or None."""
    if not 1 <= len(params.groups) <= MOST_GROUPS:
        return f"groups: {len(params.groups)} groups; expected 1 to {MOST_GROUPS}"
    for index, group in enumerate(params.groups):
        path = f"groups[{index}]"
        if not group.sizes or sorted(set(group.sizes)) != group.sizes:
            return f"{path}.sizes: {group.sizes}; expected block sizes, ascending"
        if not group.sites:
            return f"{path}.sites: no site; expected at least one"
        for number, site in enumerate(group.sites):
            if reason := _why_not_site(site):
                return f"{path}.sites[{number}].{reason}"
    sites = Counter((site.build_id, site.offset) for site in _sites(params))
    if sites.total() > MOST_SITES:
        return f"groups: {sites.total()} sites; expected at most {MOST_SITES}"
    twice = next((site for site, count in sites.items() if count > 1), None)
    return f"groups: the site {twice[0]}+{twice[1]} is named twice" if twice else None


def _why_not_site(site: Site) -> str | None:
    digits = site.build_id
    if not digits or len(digits) % 2 or len(digits) > MOST_DIGITS or set(digits) - set("0123456789abcdef"):
        return f"build_id: {digits!r}; expected pairs of hexadecimal digits, as `file` prints"
    if not 0 <= site.offset < 1 << 47:
        return f"offset: {site.offset}; expected 0 to {(1 << 47) - 1}"
    if not site.module or not site.module.isprintable() or "/" in site.module:
        return f"module: {site.module!r}; expected the name of a file"
    if site.module.startswith(NO_SITES):
        return f"module: '{site.module}': the library has operator new itself and sees no call from there"
    return None


def _sites(params: Params) -> Iterator[Site]:
    return (site for group in params.groups for site in group.sites)


def why_not_with(design: Any) -> Refusal | None:
    """Return why the groups do not fit the design's sizes, or None."""
    if why_not_valid(design.segregation):
        return None
    for index, group in enumerate(design.segregation.groups):
        strange = next((size for size in group.sizes if size not in design.sizes), None)
        if strange:
            words = f"segregation.groups[{index}].sizes: {strange} is none of the design's sizes"
            return Refusal(words, ("segregation", "sizes"))
    return None


def extra_classes(params: Params) -> list[tuple[int, int]]:
    """Return the size and the group of each further class."""
    return [(size, number) for number, group in enumerate(params.groups, 1) for size in group.sizes]


def numbers(design: Any) -> dict[str, int]:
    """Return the groups, the classes of the sizes alone, sites, modules, and the words of the table of calls."""
    sites = sum(len(group.sites) for group in design.segregation.groups)
    slots = max(LEAST_SLOTS, 1 << (4 * sites - 1).bit_length())
    return {
        "site_groups": len(design.segregation.groups),
        "sized_classes": len(design.sizes),
        "site_count": sites,
        "site_modules": len(modules(design.segregation)),
        "site_slots": slots,
    }


def class_numbers(design: Any) -> list[dict[str, int]]:
    """Return by class of a size where malloc looks: nowhere, if some group has a class of its own for the size."""
    apart = {size for group in design.segregation.groups for size in group.sizes}
    return [{"sized_row": 0 if size in apart else 1 + index} for index, size in enumerate(design.sizes)]


def modules(params: Params) -> list[str]:
    """Return the build ids of the files in which there are sites."""
    return list(dict.fromkeys(site.build_id for site in _sites(params)))


def places(params: Params) -> list[tuple[int, int, int]]:
    """Return the offset, the module and the group of each site, numbered as in `modules`."""
    number = {build_id: index for index, build_id in enumerate(modules(params))}
    return [
        (site.offset, number[site.build_id], group) for group, one in enumerate(params.groups, 1) for site in one.sites
    ]


def groups_of(params: Params, tree: CallTree) -> npt.NDArray[np.uint8]:
    """Return the group of each site of a trace: its innermost frame decides. Site 0, unknown, is in group 0."""
    groups = np.zeros(1 + tree.innermost.size, np.uint8)
    module, offset = tree.module[tree.innermost], tree.offset[tree.innermost]
    for number, group in enumerate(params.groups, 1):
        for site in group.sites:
            of_file = [index for index, file in enumerate(tree.modules) if file.build_id == site.build_id]
            groups[1:][np.isin(module, of_file) & (offset == site.offset)] = number
    return groups


@kernel
def event_begins(state: State, event: int) -> None:
    """Note the group of the event's call site."""
    state.group = int(np.int64(state.groups[event]))


@hit_path
def class_of_call(state: State, cls: int) -> int:
    """Return the class that serves the event's group of call sites, for the class of a size."""
    entries = ((state.small_limit + state.bias + state.grain - 1) >> state.grain_shift) + 1
    return int(state.lookup[entries + state.group * state.size_classes + cls])


@hit_path
def class_of_size(state: State, cls: int) -> int:
    """Return the class of a class's size alone."""
    return int(state.lookup[(int(state.classes[cls]["stride"]) + state.grain - 1) >> state.grain_shift])


@hit_path
def is_apart(state: State, cls: int) -> bool:
    """Return whether the call's site decides about the class, and not its size alone."""
    return int(state.classes[cls]["sized_row"]) == 0


@kernel
def site_lines(state: State, cls: int, size: int) -> None:
    """Touch what tells the group of a call, once the row of its size is none.

    The model does not know where in the table the call's address lies: each group has a line of it.
    """
    state.site_looks += 1
    size_lines(state, size)
    touch(state.listener, layout.SIZED_ROW + layout.SIZED_ROW_BYTES * class_of_size(state, cls), 0)
    touch(state.listener, layout.SITES_SEEN + LINE * state.group, 0)
    touch(state.listener, layout.GROUP_CLASS + state.group * state.size_classes, 0)


def follow(simulator: Any, chunk: Any) -> None:
    """Give the simulator the group of the call site of each event of a chunk."""
    simulator.state.groups = simulator.groups(chunk)
