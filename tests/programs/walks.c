/* Walks of the stack by the tables alone, and by libgcc (tests/test_unwind.py): from functions with frames of all kinds, in two
 * threads and in a signal's handler. Prints how many walks were compared, how many of those libgcc had to end, and frames of all;
 * ends with 1 if a frame differs. */
#define _GNU_SOURCE
#include "1_base/unwind.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

enum { MOST = 400 };

struct walked {
    unsigned count;
    struct frame frame[MOST];
};

static unsigned by_libgcc, compared, ended_by_libgcc, frames, differ;

/* The library's calls of it (ld's --wrap). */
_Unwind_Reason_Code __real__Unwind_Backtrace(_Unwind_Trace_Fn visit, void *to);
_Unwind_Reason_Code __wrap__Unwind_Backtrace(_Unwind_Trace_Fn visit, void *to);

_Unwind_Reason_Code __wrap__Unwind_Backtrace(_Unwind_Trace_Fn visit, void *to)
{
    by_libgcc++;
    return __real__Unwind_Backtrace(visit, to);
}

static bool add(void *to, const struct frame *frame)
{
    struct walked *walked = to;
    walked->frame[walked->count++] = *frame;
    return walked->count < MOST;
}

static _Unwind_Reason_Code add_context(struct _Unwind_Context *context, void *to)
{
    int is_interrupted = 0;
    const uintptr_t place = _Unwind_GetIPInfo(context, &is_interrupted);
    const struct frame frame = { place, (const uintptr_t *)_Unwind_GetCFA(context), is_interrupted != 0 };
    return place != 0 && add(to, &frame) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* Behind the frame of `compare`, which has other arguments on the stack in both calls. */
static bool same(const struct walked *one, const struct walked *other)
{
    unsigned skipped = 0;
    while (skipped < other->count && other->frame[skipped].top != one->frame[1].top)
        skipped++;
    if (one->count < 2 || one->count - 1 != other->count - skipped)
        return false;
    for (unsigned index = 1; index < one->count; index++) {
        const struct frame *left = &one->frame[index], *right = &other->frame[skipped + index - 1];
        if (left->place != right->place || left->top != right->top || left->is_interrupted != right->is_interrupted)
            return false;
    }
    return true;
}

__attribute__((noinline)) static void compare(void)
{
    static struct walked one, other;
    one.count = other.count = by_libgcc = 0;
    hs_walk_stack(add, &one);
    ended_by_libgcc += by_libgcc;
    __real__Unwind_Backtrace(add_context, &other);
    compared++;
    frames += one.count;
    differ += !same(&one, &other);
}

#define CALL(to)                      \
    (to)(depth > 0 ? depth - 1 : 0);  \
    __asm__ volatile("") /* no tail call */

__attribute__((noinline)) static void plain(unsigned depth);

/* The frame's length is that of the run: it has a base. */
__attribute__((noinline)) static void of_length(unsigned depth)
{
    volatile char room[depth * 40 + 1];
    room[depth] = 1;
    CALL(plain);
}

/* The stack is aligned anew: its end is told by an expression. */
__attribute__((noipa)) static long aligned(unsigned depth, long a, long b, long c, long d, long e, long f, long g)
{
    volatile char room[100] __attribute__((aligned(128))), more[depth + 1];
    room[depth] = more[depth] = 1;
    CALL(plain);
    return a + b + c + d + e + f + g;
}

__attribute__((noinline)) static void large(unsigned depth)
{
    volatile char room[300000];
    room[depth] = 1;
    CALL(plain);
}

/* Arguments on the stack, many saved registers, ways out in the middle. */
__attribute__((noinline)) static long many(unsigned depth, long a, long b, long c, long d, long e, long f, long g, long h)
{
    if (depth == 0)
        return a + h;
    const long x = a * b + 1, y = c * d + 2, z = e * f + 3, w = g * h + 4;
    if (x == 77) {
        CALL(plain);
        return x;
    }
    const long got = many(depth - 1, x, y, z, w, a + b, c + d, e + f, g + h);
    CALL(plain);
    return got + x * y + z * w;
}

static int by_sort(const void *one, const void *other)
{
    compare();
    return *(const int *)one - *(const int *)other;
}

__attribute__((noinline)) static void sorting(unsigned depth)
{
    int number[] = { 3, 1, 2, (int)depth };
    qsort(number, 4, sizeof *number, by_sort);
}

static void plain(unsigned depth)
{
    compare();
    if (depth == 0)
        return;
    switch (depth % 5) {
    case 0:
        CALL(of_length);
        break;
    case 1:
        CALL(large);
        break;
    case 2:
        many(2, depth, 2, 3, 4, 5, 6, 7, 8);
        CALL(plain);
        break;
    case 3:
        sorting(depth);
        CALL(plain);
        break;
    default:
        CALL(plain);
    }
}

static void *in_thread(void *with)
{
    plain(9);
    return with;
}

static void on_signal(int number)
{
    (void)number;
    plain(4);
}

int main(int count, char **argument)
{
    pthread_t thread;
    (void)argument;
    plain(12);
    if (pthread_create(&thread, NULL, in_thread, NULL) != 0)
        return 3;
    pthread_join(thread, NULL);
    const unsigned known = compared, rest = ended_by_libgcc;
    printf("%u %u ", known, rest);
    aligned(6, 1, 2, 3, 4, 5, 6, 7);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    printf("%u %u %u\n", compared - known, ended_by_libgcc - rest, frames);
    return differ > 0 || count < 0;
}
