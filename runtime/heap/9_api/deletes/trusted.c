/* Deletes "trusted": a block is freed as any other. */
#include "9_api/deletes/deletes.h"

void deletes_plain(const void *block)
{
}
