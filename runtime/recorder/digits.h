/* Numbers in text without stdio and without a look at the program's locale. */
#pragma once

#include <stdint.h>

static inline unsigned digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return (unsigned)(digit - '0');
    return digit >= 'a' && digit <= 'f' ? (unsigned)(digit - 'a' + 10) : UINT32_MAX;
}

/* The number behind spaces at `*text`, which then stands behind it; 0 without a digit. */
static inline uint64_t read_number(const char **text, unsigned base)
{
    uint64_t number = 0;
    while (**text == ' ')
        ++*text;
    for (; digit_value(**text) < base; ++*text)
        number = number * base + digit_value(**text);
    return number;
}

/* In decimal, with a 0 byte behind, which is where it returns. */
static inline char *write_number(char *text, uint32_t number)
{
    if (number >= 10)
        text = write_number(text, number / 10);
    *text = (char)('0' + number % 10);
    text[1] = '\0';
    return text + 1;
}
