/* Stacks (stacks.h): a table of those that have been written, and the window in which they are written. */
#define _GNU_SOURCE
#include "stacks.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "1_base/spool/windows.h"
#include "image.h"
#include "modules.h"

enum { FIRST_BUCKETS = 1 << 12, ROOM_BYTES = 1 << 20 };

/* All under image->stack_lock. */
static struct window *window;
static uint64_t *cursor;
static const struct stack **buckets;
static uint64_t bucket_count, stacks;
static uint64_t epoch; /* of the image when modules were last told */
static char *room, *room_end;

void *map_memory(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_RANDOM); /* without effect here but that smaps shows both: tools/common/smaps.py */
    madvise(memory, bytes, MADV_DONTDUMP);
    return memory;
}

void stacks_reset(void)
{
    if (window != NULL)
        hs_window_close(window);
    window = NULL;
    buckets = NULL;
    bucket_count = stacks = epoch = 0;
    room = room_end = NULL;
    modules_stale();
}

uint64_t *stack_room(uint32_t words)
{
    if (window == NULL) {
        window = window_open(STACK_STREAM);
        cursor = window == NULL ? NULL : window->slots[0];
    }
    if (window == NULL)
        return NULL;
    if ((uint64_t)(window_end(window) - cursor) < words) {
        if (!window_copy(window))
            return NULL;
        cursor = window->slots[0];
    }
    return cursor;
}

void stack_written(uint64_t *record, uint64_t word, uint32_t words)
{
    __atomic_store_n(record, word, __ATOMIC_RELEASE);
    cursor += words;
}

static uint64_t hash_of(const uint64_t *frames, uint32_t depth)
{
    uint64_t hash = depth;
    for (uint32_t i = 0; i < depth; i++)
        hash = ((hash << 27 | hash >> 37) ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* Double the buckets when they are as many as stacks. */
static bool make_buckets(void)
{
    if (stacks < bucket_count)
        return true;
    uint64_t count = bucket_count == 0 ? FIRST_BUCKETS : 2 * bucket_count;
    const struct stack **larger = map_memory(count * sizeof *larger);
    if (larger == NULL)
        return bucket_count > 0;
    for (uint64_t i = 0; i < bucket_count; i++)
        for (const struct stack *stack = buckets[i], *next; stack != NULL; stack = next) {
            next = stack->next;
            ((struct stack *)stack)->next = larger[stack->hash & (count - 1)];
            larger[stack->hash & (count - 1)] = stack;
        }
    if (buckets != NULL)
        munmap(buckets, bucket_count * sizeof *buckets);
    buckets = larger;
    bucket_count = count;
    return true;
}

static struct stack *make_stack(const uint64_t *frames, uint32_t depth)
{
    uint64_t bytes = sizeof(struct stack) + depth * sizeof *frames;
    if (room == NULL || bytes > (uint64_t)(room_end - room)) {
        room = map_memory(ROOM_BYTES);
        room_end = room + (room == NULL ? 0 : ROOM_BYTES);
    }
    if (room == NULL)
        return NULL;
    struct stack *stack = (struct stack *)room;
    room += bytes;
    stack->depth = depth;
    memcpy(stack->frames, frames, depth * sizeof *frames);
    return stack;
}

static bool write_stack(struct stack *stack)
{
    modules_cover(stack->frames, stack->depth);
    uint64_t *record = stack_room(1 + stack->depth);
    if (record == NULL)
        return false;
    __atomic_store_n(&stack->number, ++image->stacks, __ATOMIC_RELAXED); /* others may read the number before */
    stack->epoch = epoch;
    memcpy(record + 1, stack->frames, stack->depth * sizeof *stack->frames);
    stack_written(record, (uint64_t)stack->number << 32 | stack->depth << 8 | SPOOL_FRAMES, 1 + stack->depth);
    return true;
}

static struct stack *find_or_make(const uint64_t *frames, uint32_t depth)
{
    if (epoch != image->epoch)
        modules_stale();
    epoch = image->epoch;
    uint64_t hash = hash_of(frames, depth);
    if (!make_buckets())
        return NULL;
    const struct stack **bucket = &buckets[hash & (bucket_count - 1)];
    for (const struct stack *stack = *bucket; stack != NULL; stack = stack->next)
        if (stack->hash == hash && stack->depth == depth && memcmp(stack->frames, frames, depth * sizeof *frames) == 0)
            return (struct stack *)stack;
    struct stack *made = make_stack(frames, depth);
    if (made == NULL)
        return NULL;
    made->hash = hash;
    made->next = *bucket;
    *bucket = made;
    stacks++;
    return made;
}

struct image *stacks_lock(void)
{
    struct image *held = image;
    while (__atomic_exchange_n(&held->stack_lock, 1, __ATOMIC_ACQUIRE) != 0)
        syscall(SYS_sched_yield);
    return held;
}

void stacks_unlock(struct image *held)
{
    __atomic_store_n(&held->stack_lock, 0, __ATOMIC_RELEASE);
}

const struct stack *stack_of(const uint64_t *frames, uint32_t depth)
{
    struct image *held = stacks_lock();
    struct stack *stack = find_or_make(frames, depth);
    if (stack != NULL && (stack->number == 0 || stack->epoch != epoch) && !write_stack(stack))
        stack = NULL;
    stacks_unlock(held);
    return stack;
}

const struct stack *stack_kept(const uint64_t *frames, uint32_t depth)
{
    struct image *held = stacks_lock();
    const struct stack *stack = find_or_make(frames, depth);
    stacks_unlock(held);
    return stack;
}
