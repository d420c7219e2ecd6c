/* Containers whose nodes hs::allocator makes: contents, bytes in use after their end, and what happens at the ends of
 * memory; prints the library's design. */
#include "heapsmith.h"

#include <cstdio>
#include <list>
#include <malloc.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

extern "C" const char *heapsmith_design(void);

template <class T> using on = hs::allocator<T>;
using text = std::basic_string<char, std::char_traits<char>, on<char>>;
using names = std::map<int, text, std::less<int>, on<std::pair<const int, text>>>;

static names numbered(int count)
{
    names made;
    for (int number = 0; number < count; number++)
        made.emplace(number * 7919 % count, text(static_cast<std::size_t>(number % 90), 'x'));
    for (int number = 0; number < count; number += 3)
        made.erase(number);
    return made;
}

template <class Error> static bool throws(std::size_t count)
{
    try {
        on<long>().deallocate(on<long>().allocate(count), count);
    } catch (const Error &) {
        return true;
    }
    return false;
}

/* Nodes are single objects, the vector's blocks are arrays. */
static std::size_t left()
{
    std::size_t before = mallinfo2().uordblks;
    {
        names made = numbered(3001);
        std::vector<double, on<double>> grown(made.size());
    }
    return mallinfo2().uordblks - before;
}

int main()
{
    names first = numbered(3001), second = first;
    std::list<text, on<text>> list;
    std::vector<double, on<double>> grows;
    for (const auto &entry : first) {
        list.push_back(entry.second);
        grows.push_back(entry.first);
    }
    second.swap(first);
    first.clear();
    auto shared = std::allocate_shared<text>(on<text>(), "shared");
    std::size_t letters = 0;
    for (const text &entry : list)
        letters += entry.size();
    bool same = on<int>() == on<text>() && !(on<int>() != on<int>());
    bool ends = throws<std::bad_alloc>(PTRDIFF_MAX / sizeof(long)) && throws<std::bad_array_new_length>(SIZE_MAX / 2);
    std::printf("%s %zu %zu %zu %s %d %d %zu\n", heapsmith_design(), second.size(), grows.size(), letters,
                shared->c_str(), same, ends, left());
    return 0;
}
