"""A program of Python whose call stacks are known: the line that asks for SIZE bytes ends in `# SIZE`."""

import contextlib
import ctypes
import os
import sys
import threading
import weakref

kept = []


class Maker:
    def make(self):
        kept.append(bytearray(10_001))  # 10001


def recurse(depth):
    if depth == 0:
        kept.append(bytearray(10_002))  # 10002
        return
    recurse(depth - 1)  # again


def inner():
    for _ in range(3):
        yield bytearray(10_003)  # 10003


def outer():
    yield from inner()  # from


def key(number):
    kept.append(bytearray(10_004))  # 10004
    return number


def work():
    for _ in range(200):
        kept.append(bytearray(10_005))  # 10005


async def waited():
    kept.append(bytearray(10_007))  # 10007


async def waits():
    await waited()  # await


class Dies:
    def __del__(self):
        kept.append(bytearray(10_008))  # 10008


def hold():
    one = Dies()
    kept.append(id(one))


def größe():
    kept.append(bytearray(10_009))  # 10009


def note(_):
    kept.append(bytearray(10_010))  # 10010


def raw():
    ctypes.CDLL(None).malloc(10_012)  # 10012


def in_child():
    kept.append(bytearray(10_006))  # 10006


def die_in_call():
    """The call's frame has the last references to the function and to its code."""
    names = {}
    exec("def short(): return 1", names)
    watch = weakref.ref(names["short"].__code__, note)
    names.pop("short")()
    return watch


def exec_many():
    """Code objects come and go at the same addresses, of the same file and function: the size tells the line."""
    for turn in range(3000):
        line = turn * 7 % 50
        exec("\n" * line + f"kept.append(bytearray({20_000 + line})); kept.pop()")


def main():
    Maker().make()
    recurse(4)
    kept.extend(outer())
    sorted([1, 2, 3], key=key)
    both = [threading.Thread(target=work) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    with contextlib.suppress(StopIteration):
        waits().send(None)
    hold()
    größe()
    kept.append(die_in_call())
    exec_many()
    raw()
    child = os.fork()
    if child == 0:
        in_child()
        os.execv(sys.executable, [sys.executable, "-I", __file__, "again"])
    os.waitpid(child, 0)


if len(sys.argv) > 1:
    Maker().make()
else:
    main()
