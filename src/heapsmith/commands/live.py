"""The commands that look into heaps from outside: core, pins."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from heapsmith.api import show
from heapsmith.api.stated import Argument, Option
from heapsmith.commands import arguments as take
from heapsmith.commands.options import Commands, example
from heapsmith.commands.sites import By, Depth, Skip, frames
from heapsmith.model.errors import BadInput
from heapsmith.tools.common.units import amount

if TYPE_CHECKING:  # the modules need numpy, which a command imports only when it runs
    from heapsmith.tools.sampled.core import Asked
    from heapsmith.tools.sampled.pins import Pins

app = Commands()

MOST_DAMAGE = 20
"""Contradictions that are printed; --json has all."""


MOST_SITES = 3
"""Sites of a call stack that are printed."""


@app.command(epilog=example("core core.4711", "core core.4711 0x7f3b40400030", "core core.4711 --json"))
def core(
    file: Annotated[Path, Argument("The core file of a program under a heapsmith library.", "FILE")],
    addresses: Annotated[list[str] | None, Argument("Whose are these? Such as 0x7f3b40400030.", "ADDRESS")] = None,
    json: take.Json = False,
) -> None:
    """Show what the heap in a core file holds, whose addresses are, and where the heap's records contradict each other.

    Of an address it says the block, whether it is live or free and what holds it, its size class, slab and neighbours,
    and of live ones that a library with [sampling] sampled the call stack that allocated them.
    Without addresses these are that of the fault and the registers of the thread that the signal met. Files that the
    program had mapped, such as the library, must be where they were, and unchanged.
    """
    from heapsmith.tools.sampled.core import look_at_core

    found = look_at_core(file, [_address(text) for text in addresses or ()])
    if json:
        show.emit_json(found)
        return
    ended = f", ended by {found.signal}" if found.signal else ""
    show.line(f"{found.program}: {found.design}{ended}")
    show.line(f"{found.threads} threads, {found.heaps} heaps, {found.live_blocks:,} small blocks live")
    show.line()
    for one in found.addresses:
        show.prose(_sentence(one))
    uses = {name.replace("_", " "): getattr(found.bytes, name) for name in found.bytes.__struct_fields__}
    show.table("Bytes", ("<of", "bytes"), [(name, amount(size)) for name, size in uses.items()])
    show.line()
    for sentence in found.damage[:MOST_DAMAGE]:
        show.prose(sentence)
    if len(found.damage) > MOST_DAMAGE:
        show.line(f"and {len(found.damage) - MOST_DAMAGE:,} more, which --json has")
    if not found.damage:
        show.line("The heap's records do not contradict each other.")


def _address(text: str) -> int:
    try:
        found = int(text, 0)
    except ValueError:
        found = -1
    if not 0 <= found < 1 << 64:
        raise BadInput(f"{text}: expected an address, such as 0x7f3b40400030")
    return found


def _sentence(one: "Asked") -> str:
    """What is at an address."""
    place = one.place
    name = one.name if one.name == f"{place.address:#x}" else f"{one.name} {place.address:#x}"
    where = f" in {place.where}" if place.where else ""
    parts = [f"{name}: {place.kind}{where}" + (f" ({one.file})" if one.file else "")]
    if place.begin is not None:
        parts.append(f"byte {place.inside:,} of {place.bytes:,} from {place.begin:#x}")
    if place.slab is not None:
        parts.append(f"number {place.index:,} of {place.blocks:,} in the slab at {place.slab:#x}")
    parts += [f"allocated by {_stack(one.site)}"] if one.site else []
    near = (("before it", place.before, one.before), ("behind it", place.after, one.after))
    return ", ".join(
        [*parts, *(f"{side}: {kind}{f' of {_stack(by)}' if by else ''}" for side, kind, by in near if kind)]
    )


def _stack(names: list[str]) -> str:
    """The innermost sites of a call stack; --json has all."""
    return " < ".join(names[:MOST_SITES])


@app.command(epilog=example("pins 4711", "pins 4711 --by function", "pins 4711 --json"))
def pins(
    pid: Annotated[int, Argument("A process under a heapsmith library.", "PID", least=1)],
    by: By = "site",
    depth: Depth = None,
    skip: Skip = None,
    top: Annotated[int, Option("Size classes, and sites, to print; --json has all.", least=1)] = 20,
    json: take.Json = False,
) -> None:
    """Show how full the slabs of a running process are: what live blocks keep resident, and what compaction would win.

    The process is read from outside and does not stop, so that what moves meanwhile may be off by some blocks. Under a
    design that takes samples it shows whose blocks these are: estimates with 95 % intervals (docs/live.md).
    """
    from heapsmith.tools.sampled.pins import look_at_pins
    from heapsmith.tools.top.view import served

    found = look_at_pins(served(pid), by, frames(by, depth), skip or [])
    if json:
        show.emit_json(found)
        return
    show.line(f"{found.pid}  {' '.join(found.command)}: {found.design}")
    share = found.live_bytes / max(1, found.slab_bytes)
    show.line(
        f"{amount(found.slab_bytes)} of slabs hold {amount(found.live_bytes)} of live blocks ({share:.0%}), and "
        f"{amount(found.empty_slab_bytes)} are empty slabs."
    )
    show.line(
        f"{amount(found.idle_bytes)} are pages in which no block is live. If blocks could move, "
        f"{amount(found.compaction_bytes)} would be free."
    )
    if not found.is_exact:
        show.prose("Free blocks that moved meanwhile, or wait where this design does not tell, count as live.")
    columns = ("class", "slabs", "bytes", "live blocks", "live", "sparse slabs", "idle pages", "compaction frees")
    rows = [
        (
            *(f"{one.size:,}", f"{one.slabs:,}", amount(one.slab_bytes), f"{one.live_blocks:,}"),
            f"{one.live_bytes / max(1, one.slab_bytes):.0%}",
            *(f"{one.sparse_slabs:,}", amount(one.idle_bytes), amount(one.compaction_bytes)),
        )
        for one in found.classes[:top]
    ]
    show.table("", columns, rows)
    if found.samples is not None:
        _sites(found, top)


def _sites(found: "Pins", top: int) -> None:
    """Whose blocks keep slabs, as far as samples tell."""
    show.line()
    columns = ("<class", "<site", "samples", "live blocks", "keep about", "at least", "at most")
    rows = [
        (
            *(f"{one.size:,}", one.site, f"{one.samples:,} of {one.class_samples:,}", f"{one.live_blocks.value:,.0f}"),
            *map(amount, (one.kept_bytes.value, one.kept_bytes.low, one.kept_bytes.high)),
        )
        for one in found.sites[:top]
    ]
    show.table("Whose blocks keep slabs that they do not fill", columns, rows)
    if not rows:
        show.line("No block of a slab is like a sample: too few samples are live.")
    if found.dropped:
        show.note(f"heapsmith: {found.dropped:,} samples of live blocks had no room: the shares of sites are not right")
    for reason in found.reasons:
        show.note(f"heapsmith: {reason}")
