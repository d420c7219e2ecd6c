/* malloc_info(0, file) writes one well-formed XML element <malloc version=...> and returns 0 (malloc_info(3)). */
#include "behaviour.h"

static const char *name_end(const char *name)
{
    return name + strcspn(name, " \t\n/>");
}

/* The text behind the element that begins at `text`; exits where the XML is not well-formed. */
static const char *element(const char *text)
{
    expect(text[0] == '<' && text[1] != '/' && text[1] != '!', "an element was expected at '%.20s'", text);
    const char *name = text + 1, *end = strchr(text, '>');
    expect(end != NULL, "no end of the tag at '%.20s'", text);
    expect(memchr(name, '<', (size_t)(end - name)) == NULL, "'<' inside the tag at '%.20s'", text);
    int quotes = 0;
    for (const char *at = name; at < end; at++)
        quotes += *at == '"';
    expect(quotes % 2 == 0, "a quote is missing in the tag at '%.40s'", text);
    if (end[-1] == '/')
        return end + 1;
    for (text = end + 1; text[0] != '<' || text[1] != '/';) {
        expect(*text != 0 && *text != '&', "an end tag was expected before '%.20s'", text);
        text = *text == '<' ? element(text) : text + 1;
    }
    size_t length = (size_t)(name_end(name) - name);
    expect(strncmp(name, text + 2, length) == 0 && text[2 + length] == '>', "'%.10s' is closed by '%.20s'", name, text);
    return text + 3 + length;
}

int main(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    for (size_t i = 0; i < COUNT_OF(TIERS); i++)
        malloc(TIERS[i]);
    int result = malloc_info(0, file);
    expect(result == 0, "malloc_info returned %d", result);
    fclose(file);
    expect(strncmp(text, "<malloc version=\"", 17) == 0, "malloc_info begins with '%.30s'", text);
    const char *rest = element(text);
    expect(rest[strspn(rest, " \n")] == 0, "behind the element comes '%.30s'", rest);
    return 0;
}
