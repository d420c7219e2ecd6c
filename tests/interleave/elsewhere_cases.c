/* The functions of the allocator that follows (runtime/heap/9_api/foreign/elsewhere.c): who is told that they are known finds them. */
#include "explore.h"

#include "9_api/foreign/elsewhere.c"

static uint64_t freed[THREADS];

static void free_there(void *block)
{
    ++*(uint64_t *)block;
}

/* What the real source asks of the dynamic linker. */
struct definition definition_next(const char *name)
{
    (void)name;
    return (struct definition){ .function = (void *)(uintptr_t)free_there };
}

static void setup(void)
{
    share("next", &next, sizeof next);
    share("libc", &libc, sizeof libc);
    share("resolved", &resolved, sizeof resolved);
    share("freed", freed, sizeof freed);
}

static void free_elsewhere(int thread)
{
    elsewhere_free(&freed[thread]);
}

static uint64_t all_freed(void)
{
    expect(resolved && freed[0] == 1 && freed[1] == 1, "a block was left");
    return freed[0] + freed[1];
}

static const struct explored all[] = {
    { "elsewhere_2", 2, 0, setup, free_elsewhere, 0, all_freed },
    { 0 },
};
const struct explored *const cases = all;
