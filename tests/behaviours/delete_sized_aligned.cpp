// operator delete and delete[] with size and alignment free the block.
#include "behaviour.h"

#include <new>

int main()
{
    const size_t sizes[] = {24, 1000, 40000, 3 * MEBI};
    for (size_t alignment = 32; alignment <= MEBI; alignment *= 4)
        for (size_t bytes : sizes)
            for (size_t turn = 0; turn < 20 * MEBI / bytes + 5 && turn < 100; turn++) {
                std::align_val_t wanted{alignment};
                char *one = (char *)::operator new(bytes, wanted), *many = (char *)::operator new[](bytes, wanted);
                one[0] = many[0] = 1;
                ::operator delete(one, bytes, wanted);
                ::operator delete[](many, bytes, wanted);
            }
    expect(memory_of_process(1) < 40 * MEBI, "%zu bytes are resident", memory_of_process(1));
}
