/* Under a limit the first slabs become memory a few pages at a time. */
#pragma once

enum { SPARES = true };
