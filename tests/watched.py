"""Programs that go on until a watch of processes knows of them what a test asks for, however slow the machine is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import pytest

from heapsmith.tools.common.orphans import Orphans
from heapsmith.tools.common.process_watch import Watch, _Seen
from heapsmith.tools.common.served_share import Image
from heapsmith.tools.compare import measure

WATCHED = "watched"
"""The file of a folder that is there while a watch is."""

IS_AWAITED = f"""
#include <stdio.h>
#include <unistd.h>
/* Whether a watch has yet to see enough of this process, which has five minutes for it. */
static int is_awaited(void)
{{
    static int begun;
    char seen[sizeof(FOLDER) + 32];
    if (!begun++)
        alarm(300);
    snprintf(seen, sizeof seen, "%s/%d", FOLDER, (int)getpid());
    return access(FOLDER "/{WATCHED}", F_OK) == 0 && unlink(seen) != 0;
}}
"""
"""C for such programs. No watch, no wait: a run that nobody watches ends as soon as its work is done."""


def of_folder(folder: Path) -> str:
    """The compiler's flag with the folder where the programs and their watch meet."""
    return f'-DFOLDER="{folder}"'


@contextmanager
def awaiting(folder: Path, enough: Callable[[_Seen], bool]) -> Iterator[None]:
    """Each look of a watch tells the programs of which `enough` is true that they may end, by a file of their number.

    No run of `measure` is ended before.
    """
    init, look, images = Watch.__init__, Watch.look, Watch.images
    told: set[_Seen] = set()

    def begin(watch: Watch, library: Path, command: str, *others: Path) -> None:
        init(watch, library, command, *others)
        (folder / WATCHED).touch()

    def tell(watch: Watch, root: int, orphans: Orphans | None = None, *, with_root: bool) -> bool:
        is_new = look(watch, root, orphans, with_root=with_root)
        for one in chain.from_iterable(watch._seen.values()):
            if one not in told and enough(one):
                told.add(one)
                (folder / str(one.own_pid)).touch()
        return is_new

    def end(watch: Watch) -> list[Image]:
        (folder / WATCHED).unlink(missing_ok=True)
        return images(watch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "LEAST_LIMIT_S", 300.0)
        for name, function in {"__init__": begin, "look": tell, "images": end}.items():
            patch.setattr(Watch, name, function)
        yield
    for file in folder.iterdir():
        if file.name == WATCHED or file.name.isdigit():
            file.unlink()
