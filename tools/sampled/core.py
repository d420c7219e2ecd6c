"""`heapsmith core`: what the heap in a core file holds, whose some addresses are, and what contradicts itself."""

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from heapsmith.model.errors import BadInput
from heapsmith.tools.common.process_memory import Gone
from heapsmith.tools.sampled.core_sites import stacks_at
from heapsmith.tools.sampled.process import at_the_end, place_of
from heapsmith.tools.top.blocks import OUTSIDE, Blocks, Place
from heapsmith.tools.top.core_memory import CoreMemory
from heapsmith.tools.top.view import serving
from heapsmith.tools.top.watch import Bytes, ledger

NO_MEMORY, OTHER = "no memory of the program", "memory that is not the heap's"


class Asked(msgspec.Struct, frozen=True):
    """An address, what it is of the program, such as a register, and what is there. file: that was mapped there.

    site, before, after: the call stacks that allocated the block and its neighbours, innermost site first, of live
    blocks of which the library took a sample; else [].
    """

    name: str
    place: Place
    file: str | None = None
    site: list[str] = []
    before: list[str] = []
    after: list[str] = []


class Core(msgspec.Struct, frozen=True):
    """A program's heap when its core file was written.

    signal: the name of the signal that ended it, or "". addresses: those asked for, else the address of the fault and
    the registers of the thread that the signal met, as far as they lead into the heap. damage: a sentence for each
    contradiction in the heap's records, such as a block that is free twice.
    """

    program: str
    signal: str
    fault: int | None
    design: str
    threads: int
    heaps: int
    live_blocks: int
    bytes: Bytes
    addresses: list[Asked]
    damage: list[str]


def look_at_core(path: Path, addresses: Sequence[int] = ()) -> Core:
    """Read a core file. Raises BadInput if it is none, or if its program ran under no heapsmith library."""
    memory = CoreMemory(path)
    try:
        view = serving(memory)
        if view is None:
            raise BadInput(f"{path}: {memory.program} ran under no heapsmith library; expected one preloaded or linked")
        picture = view.picture(memory)
        blocks = Blocks(memory, view)
        given = [(f"{address:#x}", address) for address in addresses]
        asked = [_asked(memory, blocks, *one) for one in given or _of_the_end(memory, blocks)]
        return Core(
            program=memory.program,
            signal=_signal(memory.signal),
            fault=memory.fault,
            design=view.design,
            threads=len(memory.threads),
            heaps=picture.heaps,
            live_blocks=sum(one.live for one in picture.classes),
            bytes=ledger(picture),
            addresses=_with_sites(path, memory, asked),
            damage=blocks.damage,
        )
    except Gone as error:
        raise BadInput(f"{path}: has no {error}; expected all private memory and the mapped files") from None


def _with_sites(path: Path, memory: CoreMemory, asked: list[Asked]) -> list[Asked]:
    """The same with call stacks, where the library took samples."""
    place = place_of(path, memory)
    if place is None:
        return asked
    found = stacks_at(at_the_end(memory, place, memory.maps()), [one.place for one in asked])
    return [
        msgspec.structs.replace(one, site=site, before=before, after=after)
        for one, (site, before, after) in zip(asked, found, strict=True)
    ]


def _signal(number: int) -> str:
    """Its name; that of a signal without a name is its number."""
    try:
        return signal.Signals(number).name if number else ""
    except ValueError:
        return str(number)


def _of_the_end(memory: CoreMemory, blocks: Blocks) -> Iterator[tuple[str, int]]:
    """The address of the fault, and the registers of the thread that the signal met that lead into the heap."""
    if memory.fault is not None:
        yield "the fault", memory.fault
    for name, value in memory.threads[0].items() if memory.threads else ():
        if blocks.place(value).kind != OUTSIDE:
            yield name, value


def _asked(memory: CoreMemory, blocks: Blocks, name: str, address: int) -> Asked:
    place = blocks.place(address)
    if place.kind != OUTSIDE:
        return Asked(name, place)
    kind = OTHER if memory.holds(address) else NO_MEMORY
    return Asked(name, msgspec.structs.replace(place, kind=kind), memory.file_of(address))
