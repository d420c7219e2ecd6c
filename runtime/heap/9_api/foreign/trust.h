/* Foreign pointers, policy trust: what the emitted free leaves to the runtime. */
#pragma once

void foreign_free_paged(void *block); /* a block that begins a page: large or small; or NULL */
