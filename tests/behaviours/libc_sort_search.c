/* qsort of a large array, tsearch, hsearch and regcomp take their memory from the heap and give it back. */
#include "behaviour.h"

#include <regex.h>
#include <search.h>

static int by_value(const void *left, const void *right)
{
    int a = *(const int *)left, b = *(const int *)right;
    return (a > b) - (a < b);
}

int main(void)
{
    static int values[20000];
    void *root = NULL;
    for (size_t i = 0; i < COUNT_OF(values); i++)
        values[i] = (int)(i * 7919 % COUNT_OF(values));
    qsort(values, COUNT_OF(values), sizeof values[0], by_value);
    for (size_t i = 0; i < COUNT_OF(values); i++)
        expect(values[i] == (int)i, "element %zu is %d", i, values[i]);
    for (size_t i = 0; i < 2000; i++)
        expect(tsearch(&values[i * 7 % 2000], &root, by_value) != NULL, "tsearch failed");
    for (size_t i = 0; i < 2000; i++)
        expect(tfind(&values[i], &root, by_value) != NULL && tdelete(&values[i], &root, by_value) != NULL,
            "value %zu is lost", i);
    regex_t expression;
    expect(regcomp(&expression, "^(a|b)*[0-9]{2,9}$", REG_EXTENDED) == 0, "regcomp failed");
    expect(regexec(&expression, "abba1234", 0, NULL, 0) == 0, "the expression does not match");
    regfree(&expression);
    return 0;
}
