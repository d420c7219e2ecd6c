// operator new, and a container's: their sites are the functions that use them.
#include <vector>

namespace made {

struct Cart {
    int weights[30];
};

static Cart *volatile kept;

__attribute__((noinline)) void by_new(int)
{
    kept = new Cart;
}

template <typename T>
__attribute__((noinline)) void by_container(unsigned count)
{
    std::vector<T> held(count);
    static T *volatile seen;
    seen = held.data();
}

}

int main()
{
    made::by_new(1);
    delete made::kept;
    made::by_container<char>(121);
}
