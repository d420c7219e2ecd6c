/* syscall(2) for programs that stand in front of the C library's, linked with -rdynamic: the calls of the library under test
 * come by here. No argument of them lies behind the fourth, but for unused ones of futex(2). x86-64. */
#ifndef SYSTEM_CALLS_H
#define SYSTEM_CALLS_H

#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

struct system_call {
    long number;
    uint32_t *word; /* of futex(2) */
    long operation, value;
    const struct timespec *time;
    long futex; /* FUTEX_WAIT, FUTEX_WAKE, or -1 */
};

static inline struct system_call system_call_read(long number, va_list words)
{
    struct system_call call = { .number = number };
    call.word = va_arg(words, uint32_t *);
    call.operation = va_arg(words, long);
    call.value = va_arg(words, long);
    call.time = va_arg(words, const void *);
    call.futex = number == SYS_futex ? call.operation & FUTEX_CMD_MASK : -1;
    return call;
}

static inline long system_call_make(struct system_call call)
{
    register const void *time __asm__("r10") = call.time;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(call.number), "D"(call.word), "S"(call.operation), "d"(call.value), "r"(time)
                     : "rcx", "r11", "memory");
    errno = result < 0 ? (int)-result : EAGAIN; /* also where nothing fails: the library leaves the program's alone */
    return result < 0 ? -1 : result;
}

#endif
