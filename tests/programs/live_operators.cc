// Each function that allocates, and each of C++'s operators, with a size of its own, 100 times at each line of its input.
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace {

void *kept[16];

void operators()
{
    kept[0] = ::operator new(1001);
    kept[1] = ::operator new(1002, std::nothrow);
    kept[2] = ::operator new[](1003);
    kept[3] = ::operator new[](1004, std::nothrow);
    kept[4] = ::operator new(1024, std::align_val_t(64));
    kept[5] = ::operator new[](1088, std::align_val_t(64), std::nothrow);
    ::operator delete(kept[0]);
    ::operator delete(kept[1], std::nothrow);
    ::operator delete[](kept[2]);
    ::operator delete[](kept[3], std::nothrow);
    ::operator delete(kept[4], std::align_val_t(64));
    ::operator delete[](kept[5], std::align_val_t(64), std::nothrow);
    void *large = ::operator new(200001);
    ::operator delete(large, 200001);
}

void functions()
{
    kept[6] = malloc(1005);
    kept[7] = calloc(2, 503);
    kept[8] = realloc(nullptr, 1007);
    kept[9] = reallocarray(nullptr, 16, 63);
    if (posix_memalign(&kept[10], 64, 1009) != 0)
        kept[10] = nullptr;
    kept[11] = aligned_alloc(64, 1152);
    kept[12] = memalign(64, 1011);
    kept[13] = valloc(1012);
    kept[14] = pvalloc(5000);
    for (int at = 6; at < 15; at++)
        free(kept[at]);
}

}

int main()
{
    char line[64];
    setvbuf(stdin, nullptr, _IONBF, 0);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != nullptr) {
        for (int turn = 0; turn < 100; turn++) {
            operators();
            functions();
        }
        puts("stopped");
        fflush(stdout);
    }
    return 0;
}
