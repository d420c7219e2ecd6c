// operator delete and delete[] with the size free the block: thousands of them need no more memory than one.
#include "behaviour.h"

#include <new>

int main()
{
    const size_t sizes[] = {24, 1000, 40000, 3 * MEBI, 40 * MEBI};
    for (size_t bytes : sizes)
        for (size_t turn = 0; turn < 100 * MEBI / bytes + 5 && turn < 100000; turn++) {
            char *one = (char *)::operator new(bytes), *many = (char *)::operator new[](bytes);
            one[0] = many[0] = 1;
            ::operator delete(one, bytes);
            ::operator delete[](many, bytes);
        }
    expect(memory_of_process(1) < 40 * MEBI, "%zu bytes are resident", memory_of_process(1));
}
