// A threaded C++ program whose operator new, containers and exceptions live on heapsmith. Writes the design's name and hash.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" const char *heapsmith_design(void);
extern "C" int64_t heapsmith_locate(const void *block);

namespace {

bool ours(const void *block)
{
    return heapsmith_locate(block) >= 0;
}

struct alignas(64) Wide {
    char bytes[192];
};

int use(int number)
{
    std::map<int, std::string> names;
    for (int index = 0; index < 1000; index++)
        names[index] = std::string(static_cast<size_t>(number + index % 90), 'x');
    auto wide = std::make_unique<Wide>();
    auto *nothrow = new (std::nothrow) char[100000];
    int good = ours(&*names.begin()) && ours(wide.get()) && ours(nothrow) && reinterpret_cast<uintptr_t>(wide.get()) % 64 == 0;
    delete[] nothrow;
    try {
        names.at(5000);
    } catch (const std::out_of_range &error) {
        good += error.what()[0] != '\0';
    }
    return good;
}

} // namespace

int main()
{
    std::vector<std::thread> threads;
    std::vector<int> good(8);
    for (size_t index = 0; index < good.size(); index++)
        threads.emplace_back([&good, index] { good[index] = use(static_cast<int>(index)); });
    for (auto &thread : threads)
        thread.join();
    for (int one : good)
        if (one != 2)
            return 1;
    try {
        volatile size_t much = PTRDIFF_MAX - 100; // volatile, both: gcc takes unused pairs of new and delete away
        char *volatile block = new char[much];
        delete[] block;
        return 2;
    } catch (const std::bad_alloc &) {
        return std::puts(heapsmith_design()) < 0;
    }
}
