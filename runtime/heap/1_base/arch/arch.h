/* What differs between processors, a file for each. No other file asks which it is: tests/test_layout.py. */
#pragma once

#if defined __x86_64__
#include "1_base/arch/x86_64.h"
#elif defined __aarch64__
#include "1_base/arch/aarch64.h"
#elif defined __riscv && __riscv_xlen == 64
#include "1_base/arch/riscv64.h"
#else
#error "no file in runtime/heap/1_base/arch is for this processor: heapsmith knows x86-64, 64-bit Arm and 64-bit RISC-V"
#endif
