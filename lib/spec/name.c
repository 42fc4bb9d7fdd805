/* See name.h. */
#include "spec/name.h"

#include <string.h>

#define LONGER_THAN_ANY_NAME 4096

bool object_name_is_valid(const char *text)
{
    size_t len = strlen(text);
    return len >= 1 && len <= 32 && text[0] >= 'a' && text[0] <= 'z' && text[len - 1] != '-' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
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

const char *object_name_read(struct diags *d, const struct place *place)
{
    const char *name;
    if (!read_text(d, place, LONGER_THAN_ANY_NAME, &name)) {
        return NULL;
    }
    if (!object_name_is_valid(name)) {
        reader_complain(d, place,
                        "use 1 to 32 of a-z, 0-9 and '-'; start with a letter, do not end with '-'",
                        "'%s' is not a valid name", name);
        return NULL;
    }
    return name;
}
