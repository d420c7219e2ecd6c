/* Deletes: whether C++'s operators judge who made a block (judged.c, with hardening) or trust the program (trusted.c). */
#pragma once

#include "3_records/heap.h"

void deletes_made(const void *block);  /* operator new made it; only judged.c has it */
void deletes_plain(const void *block); /* operator delete is to free it */
