"""A hash table from addresses to the numbers of live blocks, and the stack of spare numbers beside it."""

import numpy as np

from heapsmith.model.compile.kernel import Arrays, Ints, Records, compiled, hit_path, kernel


class Numbered(Arrays):
    """The base of a state that numbers live blocks; its scalars have `live`, `numbers` (so far) and `spares`."""

    keys: Ints  # of the hash table from address to number
    blocks: Ints
    spare: Ints  # the stack, as long as the table
    scalars: Records


@hit_path
def home(keys: Ints, address: int) -> int:
    """The place where the search for `address` begins."""
    return ((((address >> 4) ^ (address >> 35)) & 0x7FFFFFFF) * 0x9E3779B1 >> 31) & (keys.size - 1)


@hit_path
def find(keys: Ints, address: int) -> int:
    """The place of `address`, or its empty place; linear probing (Knuth vol. 3, 6.4, L)."""
    at = home(keys, address)
    while keys[at] != 0 and keys[at] != address:
        at = (at + 1) & (keys.size - 1)
    return at


@hit_path
def remove(keys: Ints, blocks: Ints, gap: int) -> None:
    """Empty place `gap` and close its probe sequence (Knuth vol. 3, 6.4, algorithm R)."""
    mask = keys.size - 1
    at = (gap + 1) & mask
    while keys[at] != 0:
        if ((at - home(keys, keys[at])) & mask) >= ((at - gap) & mask):
            keys[gap] = keys[at]
            blocks[gap] = blocks[at]
            gap = at
        at = (at + 1) & mask
    keys[gap] = 0


@hit_path
def take(state: Numbered, address: int) -> int:
    """Remove `address` from the table; return its block, or -1."""
    at = find(state.keys, address)
    if state.keys[at] == 0:
        return -1
    block = int(state.blocks[at])
    remove(state.keys, state.blocks, at)
    state.live -= 1
    return block


@hit_path
def bind(state: Numbered, address: int, block: int) -> None:
    """Bind `block` to `address`, which has no block."""
    at = find(state.keys, address)
    state.keys[at] = address
    state.blocks[at] = block
    state.live += 1


@hit_path
def next_number(state: Numbered) -> int:
    """The number that was freed last, or a new one."""
    if state.spares > 0:
        state.spares -= 1
        return int(state.spare[state.spares])
    state.numbers += 1
    return int(state.numbers) - 1


@hit_path
def release(state: Numbered, block: int) -> None:
    """The number of a dead block is the next to be used again."""
    state.spare[state.spares] = block
    state.spares += 1


@kernel
def rehash(keys: Ints, blocks: Ints, new_keys: Ints, new_blocks: Ints) -> None:
    """Move a table's entries into a larger empty table; sizes are powers of two."""
    for i in range(keys.size):
        if keys[i] != 0:
            at = find(new_keys, keys[i])
            new_keys[at] = keys[i]
            new_blocks[at] = blocks[i]


fast_rehash = compiled(rehash)


def new_table(places: int) -> tuple[Ints, Ints, Ints]:
    """Return keys, blocks and spare numbers: an empty table of at least `places` places, and a stack for it."""
    size = 1 << (places - 1).bit_length()
    return np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)


def grown_table(keys: Ints, blocks: Ints, spare: Ints) -> tuple[Ints, Ints, Ints]:
    """Return table and stack at twice their size."""
    new_keys, new_blocks, new_spare = new_table(2 * keys.size)
    fast_rehash(keys, blocks, new_keys, new_blocks)
    new_spare[: spare.size] = spare
    return new_keys, new_blocks, new_spare
