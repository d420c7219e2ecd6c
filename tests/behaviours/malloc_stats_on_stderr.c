/* malloc_stats writes to standard error, and to nothing else (malloc_stats(3)). */
#include "behaviour.h"

#include <fcntl.h>

/* What a descriptor that now leads to a pipe was given. */
static ssize_t given(int reading, int descriptor, char *text, size_t bytes)
{
    fflush(NULL);
    close(descriptor);
    return read(reading, text, bytes);
}

int main(void)
{
    static char text[65536];
    int out[2], errors[2], kept = dup(2);
    expect(pipe(out) == 0 && pipe(errors) == 0, "no pipe");
    fcntl(errors[1], F_SETPIPE_SZ, 65536);
    dup2(out[1], 1);
    dup2(errors[1], 2);
    close(out[1]);
    close(errors[1]);
    malloc_stats();
    ssize_t on_errors = given(errors[0], 2, text, sizeof text);
    dup2(kept, 2);
    expect(on_errors > 0 && text[on_errors - 1] == '\n', "standard error was given %zd bytes", on_errors);
    ssize_t on_out = given(out[0], 1, text, sizeof text);
    expect(on_out == 0, "standard output was given %zd bytes", on_out);
    return 0;
}
