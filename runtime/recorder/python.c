/* Python frames (python.h). The interpreter is found by the functions that it exports; what these do not tell is read by
 * python_layout.h.
 *
 * A thread's own frames and the code that they run do not change while it is here. A code object that died may make room for
 * another one at its address. So the function by which code dies is led to one that counts, and both the hash of the frames
 * and the number of a place depend on that count. */
#include "python.h"

#include <stddef.h>

#include "stacks.h"

#if STACK_DEPTH > 0

#include <string.h>
#include <sys/mman.h>

#include "../heap/1_base/definitions.h"
#include "../heap/1_base/spool/spool.h"
#include "digits.h"
#include "python_layout.h"
#include "python_places.h"

enum { NONE_HASH = 1 }; /* of a thread without Python frames */

/* Functions of the interpreter. None takes a lock or allocates. */
static struct {
    const char *(*version)(void);
    const char *(*own)(void);     /* this thread's state, if it has one */
    const char *(*current)(void); /* that of the thread that holds the lock of all Python code */
    int (*is_finalizing)(void);
    const void *(*latest_interpreter)(void);
    const void *(*main_interpreter)(void);
    int (*line)(const char *code, int offset);
    const void *run; /* the interpreter of a frame: the last of `exported`, whose bytes are kept */
} python;

static const struct {
    void *slot;
    const char *name;
} exported[] = {
    { &python.version, "Py_GetVersion" },
    { &python.own, "PyGILState_GetThisThreadState" },
    { &python.current, "_PyThreadState_UncheckedGet" },
    { &python.is_finalizing, "_Py_IsFinalizing" },
    { &python.latest_interpreter, "PyInterpreterState_Head" },
    { &python.main_interpreter, "PyInterpreterState_Main" },
    { &python.line, "PyCode_Addr2Line" },
    { &python.run, "_PyEval_EvalFrameDefault" },
};

static const struct python_layout *layout; /* NULL: no interpreter, or one of another version */
static uint64_t run_bytes;                 /* of the interpreter's code */
static __thread bool is_first;             /* the thread that loaded the program */

/* A Python frame, and what lies in the C frame of the interpreter's run that it is of; NULL: unknown. */
struct position {
    const char *frame, *run;
};

static const char *pointer_at(const char *object, unsigned offset)
{
    return *(const char *const *)(object + offset);
}

/* "3.11.2 (main, ...", "3.10.0rc1 (", "3.12.0+ (": alphas, betas and other makes of the interpreter have other layouts. */
static const struct python_layout *layout_of(const char *version)
{
    const char *text = version;
    uint64_t major = read_number(&version, 10), minor = *version == '.' ? (version++, read_number(&version, 10)) : 0;
    if (*version == '.')
        version++;
    read_number(&version, 10);
    version += strncmp(version, "+ ", 2) == 0;
    if ((*version != ' ' && strncmp(version, "rc", 2) != 0) || strstr(text, "Pyston") != NULL)
        return NULL;
    for (size_t i = 0; i < sizeof python_layouts / sizeof *python_layouts; i++)
        if (major == 3 && minor == python_layouts[i].minor)
            return &python_layouts[i];
    return NULL;
}

void python_find(void)
{
    static const char of_traced_objects[] = "_Py_AddToAllObjects"; /* Py_TRACE_REFS: objects begin with two more words */
    is_first = true;
    for (size_t i = 0; i < sizeof exported / sizeof *exported; i++) {
        struct definition found = definition_first(exported[i].name);
        if (found.function == NULL)
            return;
        memcpy(exported[i].slot, &found.function, sizeof found.function);
        run_bytes = found.bytes;
    }
    if (definition_first(of_traced_objects).function == NULL)
        layout = layout_of(python.version());
}

bool python_is_known(void)
{
    return layout != NULL;
}

/* The state of this thread, if nobody else changes it: who holds the interpreter's lock runs here, or no other thread can end what
 * this one has. The thread that loaded the program is the one that ends the interpreter, and with one interpreter it has one
 * state. */
static const char *own_thread(void)
{
    const char *own = python.own();
    if (own == NULL || own == python.current())
        return own;
    bool is_safe = is_first && !python.is_finalizing() && python.latest_interpreter() == python.main_interpreter();
    return is_safe ? own : NULL;
}

/* A run lies on the stack outside this function, or is the first one, in the thread's state. Where a program has just put another
 * stack in place of this one, as greenlets do, the state may still tell of a run that is no more. */
static struct position innermost(const char *thread)
{
    struct position at = {NULL, layout->thread_call == 0 ? NULL : pointer_at(thread, layout->thread_call)};
    const char *here = __builtin_frame_address(0);
    if ((at.run <= here || (uintptr_t)at.run % sizeof(char *) != 0) && (uintptr_t)(at.run - thread) >= THREAD_BYTES)
        at.run = NULL;
    if (layout->thread_frame != 0)
        at.frame = pointer_at(thread, layout->thread_frame);
    else if (at.run != NULL)
        at.frame = pointer_at(at.run, layout->call_frame);
    return at;
}

/* The frame that called this one; true if the interpreter's run began with this one: then the run outside goes on with that. Of a
 * generator that passes an exception on to another one, the mark of its last run remains. */
static bool go_outwards(struct position *at)
{
    const char *outer = at->run == NULL ? NULL : pointer_at(at->run, layout->call_outer);
    bool is_entry = layout->frame_is_entry == 0 || at->frame[layout->frame_is_entry] != 0;
    at->frame = pointer_at(at->frame, layout->frame_outer);
    if (layout->call_frame != 0 && outer != NULL)
        is_entry = at->frame == pointer_at(outer, layout->call_frame);
    if (is_entry)
        at->run = outer > at->run ? outer : NULL;
    return is_entry;
}

/* Of the 8 bytes from a frame's last instruction on: an address, or a number of 4 bytes. */
static uint64_t last_bits(void)
{
    return layout->code_bytes != 0 ? UINT64_MAX : UINT32_MAX;
}

uint64_t python_key(void)
{
    if (layout == NULL)
        return 0;
    uint64_t hash = NONE_HASH;
    const char *thread = own_thread(), *frame = thread == NULL ? NULL : innermost(thread).frame;
    const unsigned code_at = layout->frame_code, last_at = layout->frame_last, outer_at = layout->frame_outer;
    const uint64_t last_mask = last_bits();
    for (unsigned i = 0; frame != NULL && i < STACK_DEPTH; i++) {
        const char *code = pointer_at(frame, code_at);
        uint64_t last = (uint64_t)pointer_at(frame, last_at) & last_mask;
        hash = mixed(hash, (uint64_t)code + last * UINT64_C(0xc2b2ae3d27d4eb4f) + *deaths_at(code) * UINT64_C(0x9fb21c651e98df25));
        frame = pointer_at(frame, outer_at);
    }
    return hash;
}

static uint32_t number_of(const char *frame)
{
    const char *code = pointer_at(frame, layout->frame_code);
    uint64_t last = (uint64_t)pointer_at(frame, layout->frame_last) & last_bits();
    int offset = layout->code_bytes != 0 ? (int)(last - (uint64_t)code - layout->code_bytes) : (int)last * layout->last_bytes;
    return place_number(&(struct python_place){
        .code = code,
        .last = last,
        .offset = offset,
        .file = layout->code_file,
        .name = layout->code_name,
        .line = python.line,
    });
}

/* Add the frames of the interpreter's run that `*at` is in. */
static uint32_t add_run(struct position *at, uint64_t *to, uint32_t made)
{
    bool is_entry = false;
    while (!is_entry && at->frame != NULL && made < STACK_DEPTH) {
        uint32_t number = number_of(at->frame);
        if (number != 0)
            to[made++] = SPOOL_PLACES + number;
        is_entry = go_outwards(at);
    }
    return made;
}

/* Whether the C frame from `top` to `end` is that of the run. Versions without a mark in the C frame are not told apart by it:
 * there each run has one frame, and its return address lies in the interpreter's code. A part of that code that the compiler put
 * elsewhere is not known. */
static bool is_run(const struct position *at, uint64_t place, uint64_t top, uint64_t end)
{
    if (at->frame == NULL || at->run == NULL)
        return at->frame != NULL && place - 1 - (uint64_t)python.run < run_bytes;
    return (uint64_t)at->run >= top && (uint64_t)at->run < end;
}

uint32_t python_frames(const uint64_t *frames, const uint64_t *tops, uint32_t depth, uint64_t *to)
{
    const char *thread = layout == NULL ? NULL : own_thread();
    struct position at = thread == NULL ? (struct position){NULL, NULL} : innermost(thread);
    if (at.frame == NULL)
        return 0;
    struct image *held = stacks_lock();
    uint32_t made = 0;
    for (uint32_t i = 0; i < depth && made < STACK_DEPTH; i++) {
        bool runs = is_run(&at, frames[i], tops[i], i + 1 < depth ? tops[i + 1] : tops[i]);
        if (!runs || i == 0) /* designs of call sites need the call of malloc */
            to[made++] = frames[i];
        if (runs)
            made = add_run(&at, to, made);
    }
    while (depth < STACK_DEPTH && at.frame != NULL && made < STACK_DEPTH) /* no way out of some function is known */
        made = add_run(&at, to, made);
    stacks_unlock(held);
    return made;
}

void python_reset(void)
{
    places_reset();
}

#else

void python_find(void)
{
}

#endif
