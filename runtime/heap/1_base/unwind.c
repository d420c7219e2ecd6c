/* The calling thread's stack (unwind.h): by frames.h, and from the first frame on that it does not know by libgcc, which keeps all of
 * its state on the stack. A library has a libgcc of its own: the shared one takes a lock where programs register frames, and its
 * holder may ask for memory. An archive has the program's, and nothing else. */
#define _GNU_SOURCE
#include "1_base/unwind.h"

#include "1_base/arch/arch.h"
#include "1_base/frames.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

struct walk_of_stack {
    bool (*visit)(void *to, const struct frame *frame);
    void *to;
    uintptr_t behind; /* the place of the last frame that was visited already; 0: of none */
    uintptr_t top;    /* of that frame; 0: it is the first one to visit */
    struct frames_of_file file;
};

#ifdef HEAPSMITH_ARCHIVE

static bool may_be_code(struct walk_of_stack *walk, uintptr_t place)
{
    return true;
}

#else

/* rt_sigprocmask(2) reads the set before it refuses what is to be done with it. */
static bool is_readable(uintptr_t at)
{
    enum { NOTHING = -1, SET_BYTES = 8 };
    return syscall(SYS_rt_sigprocmask, NOTHING, at & -(uintptr_t)SET_BYTES, NULL, SET_BYTES) == 0 || errno != EFAULT;
}

/* Outside of files libgcc looks at a place for the return from a signal's handler. But the word that it takes for a return address
 * may be any at the end of a stack that a program made, or that it changed. */
static bool may_be_code(struct walk_of_stack *walk, uintptr_t place)
{
    enum { READ_BYTES = 16 }; /* that libgcc reads, at most */
    const int saved = errno;
    const bool may = hs_frames_of(&walk->file, place) || (is_readable(place) && is_readable(place + READ_BYTES - 1));
    errno = saved;
    return may;
}

#endif

/* Libgcc shows each frame with the stack pointer after the return to it. */
static _Unwind_Reason_Code visit_context(struct _Unwind_Context *context, void *of)
{
    struct walk_of_stack *walk = of;
    int is_interrupted = 0;
    const uintptr_t place = _Unwind_GetIPInfo(context, &is_interrupted), top = _Unwind_GetCFA(context);
    const struct frame frame = { place, (const uintptr_t *)top, is_interrupted != 0 };
    if (place == 0)
        return _URC_END_OF_STACK;
    if (walk->behind != 0 && (walk->behind != place || (walk->top != 0 && walk->top != top)))
        return _URC_NO_REASON;
    const bool is_visited = walk->behind != 0 && walk->top != 0;
    walk->behind = 0;
    const bool goes_on = (is_visited || walk->visit(walk->to, &frame)) && may_be_code(walk, place);
    return goes_on ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void walk_by_libgcc(struct walk_of_stack walk)
{
    _Unwind_Backtrace(visit_context, &walk);
}

static bool visit_none(void *to, const struct frame *frame)
{
    return false;
}

#ifdef __GLIBC__

static bool has_frames(void)
{
    return true;
}

#else
#include <link.h>

#ifdef HEAPSMITH_ARCHIVE
#define FOR_LIBGCC __attribute__((weak, visibility("default")))
#else
#define FOR_LIBGCC
#endif

/* What glibc's dlfcn.h has. */
struct dl_find_object {
    unsigned long long flags;
    void *start, *end;
    struct link_map *object;
    void *frames;
    unsigned long long reserved[7];
};
int _dl_find_object(void *code, struct dl_find_object *found);

static int is_file_of(struct dl_phdr_info *file, size_t bytes, void *of)
{
    struct dl_find_object *found = of;
    const ElfW(Addr) code = (ElfW(Addr))found->start - file->dlpi_addr;
    void *frames = NULL;
    bool is_here = false;
    for (const ElfW(Phdr) *part = file->dlpi_phdr; part < file->dlpi_phdr + file->dlpi_phnum; part++) {
        is_here |= part->p_type == PT_LOAD && code - part->p_vaddr < part->p_memsz;
        if (part->p_type == PT_GNU_EH_FRAME)
            frames = (void *)(file->dlpi_addr + part->p_vaddr);
    }
    if (is_here)
        found->frames = frames;
    return is_here;
}

/* A libgcc that was made for glibc asks it for the file that has `code`; Debian's musl-gcc links this libgcc with musl. Musl's
 * loader holds the lock of its list of files only for a step in it, and asks no malloc but its own meanwhile. */
FOR_LIBGCC int _dl_find_object(void *code, struct dl_find_object *found)
{
    *found = (struct dl_find_object){ .start = code };
    return dl_iterate_phdr(is_file_of, found) != 0 && found->frames != NULL ? 0 : -1;
}

/* Without unwind information of its caller libgcc aborts: musl-gcc links programs without a table of it. */
static bool has_frames(void)
{
    struct dl_find_object found;
    return _dl_find_object((void *)walk_by_libgcc, &found) == 0;
}

#endif

#ifdef HEAPSMITH_ARCHIVE
#include <pthread.h>

/* Libgcc refers to them weakly: no static program has them by that. */
static void *const of_libgcc[] __attribute__((used)) = { pthread_once, pthread_mutex_lock, pthread_mutex_unlock };

/* A static program tells libgcc of its frames by its first constructor; libgcc aborts where it has to walk before. */
static bool begun;

/* The first walk in a static program asks for memory, and holds a lock that each walk takes. */
static __thread bool is_walking;

void hs_walk_stack(bool (*visit)(void *to, const struct frame *frame), void *to)
{
    if (is_walking || !begun)
        return;
    is_walking = true;
    walk_by_libgcc((struct walk_of_stack){ .visit = visit, .to = to });
    is_walking = false;
}

static void walking_begins(void)
{
    begun = has_frames();
    hs_walk_stack(visit_none, NULL);
}

#else

void hs_walk_stack(bool (*visit)(void *to, const struct frame *frame), void *to)
{
    struct frames_of_file file = { 0 };
    struct called call = { .top = ARCH_CALLER_TOP, .base = ARCH_CALLER_BASE, .has_base = true };
    call.place = (uintptr_t)__builtin_return_address(0);
    enum outwards outwards = call.top != 0 ? CALLED_FROM : NOT_KNOWN;
    while (outwards == CALLED_FROM) {
        const struct frame frame = { call.place, (const uintptr_t *)call.top, false };
        if (call.place == 0 || !visit(to, &frame))
            return;
        outwards = hs_call_outwards(&call, &file);
    }
    struct walk_of_stack rest = { visit, to, call.place, call.top, file };
    if (outwards == NOT_KNOWN && has_frames() && may_be_code(&rest, call.place))
        walk_by_libgcc(rest);
}

static void walking_begins(void)
{
    if (has_frames())
        walk_by_libgcc((struct walk_of_stack){ .visit = visit_none });
}

#endif

/* Libgcc's first walk prepares it: by futex(2), which a sandbox that the program enters later may forbid, and in a static program
 * by malloc, under a lock. If the program threw first, a sample of what that asks for would wait for itself. */
static __attribute__((constructor)) void walk_first(void)
{
    walking_begins();
}
