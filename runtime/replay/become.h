/* What a user's program starts with: read from a description, and put in force by the process that becomes it. */
#pragma once

/* ignored: signals to ignore, bit n - 1 for signal n. preload_file: stands in place of
 * /etc/ld.so.preload for the program and its children; empty: none does. */
struct start {
    unsigned long ignored;
    const char *preload_file, *program;
    char **arguments, **environment;
};

/* Read the description from the pipe to its end, and close that. False if it is none. */
_Bool start_read(int file, struct start *to);

/* Become the program. If that fails, the number of the error goes to the pipe, which a successful exec closes: below 0 if it is of
 * the mount of preload_file. */
_Noreturn void start_become(const struct start *s, int error_pipe);
