/* mallopt returns 1 for each documented parameter (mallopt(3)). */
#include "behaviour.h"

int main(void)
{
    const struct {
        const char *name;
        int parameter, value;
    } cases[] = {
        {"M_MXFAST", M_MXFAST, 64},
        {"M_MXFAST", M_MXFAST, 0},
        {"M_TRIM_THRESHOLD", M_TRIM_THRESHOLD, 1 << 20},
        {"M_TOP_PAD", M_TOP_PAD, 65536},
        {"M_MMAP_THRESHOLD", M_MMAP_THRESHOLD, 1 << 18},
        {"M_MMAP_MAX", M_MMAP_MAX, 1000},
        {"M_CHECK_ACTION", M_CHECK_ACTION, 3},
        {"M_PERTURB", M_PERTURB, 0},
        {"M_ARENA_TEST", M_ARENA_TEST, 2},
        {"M_ARENA_MAX", M_ARENA_MAX, 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int result = mallopt(cases[i].parameter, cases[i].value);
        expect(result == 1, "mallopt(%s, %d) returned %d", cases[i].name, cases[i].value, result);
    }
    return 0;
}
