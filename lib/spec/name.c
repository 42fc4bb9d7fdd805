/* See name.h. */
#include "spec/name.h"

#include <string.h>

#include "base/str.h"
#include "base/mem.h"

bool object_name_is_valid(const char *text)
{
    size_t len = strlen(text);
    return len >= 1 && len <= OBJECT_NAME_MAX && text[0] >= 'a' && text[0] <= 'z' &&
           text[len - 1] != '-' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

char *object_name_make(const char *text, size_t max, const char *other)
{
    char *name = xstrdup(ascii_is_letter(text[0]) ? text : other);
    size_t len = 0;
    for (const char *c = name; *c != '\0' && len < max; c++) {
        if (ascii_is_alnum(*c)) {
            name[len++] = ascii_lower(*c);
        } else if (name[len - 1] != '-') {
            name[len++] = '-';
        }
    }
    name[len - (name[len - 1] == '-')] = '\0';
    return name;
}

bool sweep_name_is_valid(const char *text)
{
    size_t len = strlen(text);
    return len >= 1 && len <= 31 && text[0] >= 'a' && text[0] <= 'z' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

bool free_name_is_valid(const char *text)
{
    static const char inside[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t len = strlen(text);
    return len >= 1 && len <= 63 && text[strspn(text, inside)] == '\0' &&
           strchr("._-", text[0]) == NULL && strchr("._-", text[len - 1]) == NULL;
}
