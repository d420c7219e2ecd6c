/* What differs between C libraries: glibc, and those that keep to the standards, such as musl. No other file but unwind.c asks which it is. */
#pragma once

#include <stddef.h>
#include <unistd.h>

#ifdef __GLIBC__

/* Its name for what this library declares under another one. */
#define LIBC_NAME(name) __asm__(name) __attribute__((visibility("default")))

/* The environment, of what a constructor is passed. */
#define ENVIRONMENT_AT_START(passed) (passed)

/* The first constructor of a program that the archive is linked to: where the C library is another one than the archive was
 * compiled for, the linker names it. */
#define FIRST_OF_ARCHIVE heapsmith_needs_glibc
const char *gnu_get_libc_version(void) __attribute__((visibility("default")));
#define LIBC_IS_OURS() ((void)gnu_get_libc_version())

#else

#define LIBC_NAME(name) /* it has no such function: libc.c defines it */
#define ENVIRONMENT_AT_START(passed) ((void)(passed), environ)
#define FIRST_OF_ARCHIVE heapsmith_begins
#define LIBC_IS_OURS() ((void)0)

#endif

/* Its memmove and memset, where this library's own judge the program's copies (copies/judged.c). */
void *hs_copy_any(void *to, const void *from, size_t bytes, size_t room) LIBC_NAME("__memmove_chk");
void *hs_fill_any(void *start, int byte, size_t bytes, size_t room) LIBC_NAME("__memset_chk");
