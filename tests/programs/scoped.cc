/* C++ whose blocks die in the call of the function that asked for them, and others: the test has the counts. */
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#define CALL __attribute__((noinline, noclone))

const void *volatile seen;

CALL static void look(const void *at)
{
    seen = at;
}

CALL static void unique(int at)
{
    auto number = std::make_unique<int>(at);
    look(number.get());
    look(&number);
}

CALL static void raw()
{
    int *numbers = new int[9];
    look(numbers);
    delete[] numbers;
    look(&numbers);
}

CALL static std::string text(int at)
{
    return std::string(30 + at, 'x');
}

CALL static void temporaries(int at)
{
    std::string both = std::string(40, 'a') + text(at).c_str();
    look(both.data());
    look(&both);
}

CALL static void vector()
{
    std::vector<int> numbers;
    for (int at = 0; at < 8; at++) {
        numbers.push_back(at);
        look(numbers.data());
    }
    look(&numbers);
}

struct Buffer {
    char *bytes;
    Buffer() : bytes(static_cast<char *>(malloc(200))) { look(bytes); }
    ~Buffer() { free(bytes); }
};

CALL static void in_a_constructor()
{
    Buffer buffer;
    look(&buffer);
}

CALL static std::unique_ptr<int> handed_on()
{
    auto number = std::make_unique<int>(1);
    look(number.get());
    return number;
}

CALL static void thrown(int at)
{
    std::vector<int> numbers(at + 1);
    look(numbers.data());
    if (at % 2)
        throw at;
    look(&numbers);
}

int main()
{
    for (int at = 0; at < 50; at++) {
        unique(at);
        raw();
        temporaries(at);
        vector();
        in_a_constructor();
        look(handed_on().get());
        try {
            thrown(at);
        } catch (int) {
        }
    }
}
