/* A small file of the system, as a text. */
#pragma once

#include <stddef.h>

/* What fits of a file; an empty text if it cannot be read. */
void os_read_text(const char *path, char *text, size_t room);
