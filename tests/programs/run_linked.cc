/* Linked with a heapsmith library: new and delete reach it, and what does not fit throws through it. */
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

extern "C" const char *heapsmith_design(void);
extern "C" std::int64_t heapsmith_locate(const void *block);

struct alignas(256) Wide {
    char bytes[300];
};

static int refused;

static void refuse()
{
    if (++refused == 3)
        throw std::bad_alloc();
}

int main()
{
    auto plain = std::make_unique<int>(1);
    auto wide = std::make_unique<Wide[]>(3);
    std::vector<std::string> words(1000, std::string(100, 'x'));
    bool ours = heapsmith_locate(plain.get()) >= 0 && heapsmith_locate(words.data()) >= 0 &&
                reinterpret_cast<std::uintptr_t>(wide.get()) % 256 == 0;
    std::thread([&words] { words.clear(), words.shrink_to_fit(); }).join();
    volatile std::size_t too_much = PTRDIFF_MAX;
    bool thrown = false;
    std::set_new_handler(refuse);
    try {
        std::printf("%p\n", ::operator new(too_much));
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    std::printf("%s %d %d %d\n", heapsmith_design(), ours, thrown, refused);
}
