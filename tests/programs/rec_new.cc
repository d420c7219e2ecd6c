// operator new and delete in their forms, each with a size of its own.
#include <cstddef>
#include <new>

struct alignas(512) Aligned {
    char bytes[1024];
};
struct Plain {
    char bytes[7001];
};

int main()
{
    volatile std::size_t count = 7002;
    delete new Plain;
    delete[] new char[count];
    delete new Aligned;
    ::operator delete(::operator new(7003, std::nothrow));
    return 0;
}
