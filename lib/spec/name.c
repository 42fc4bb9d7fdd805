/* See name.h. */
#include "spec/name.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "doc/match.h"
#include "spec/schemas.h"

/* Is it of the form of that field? */
static bool fits(const char *text, const char *path, struct kept *kept)
{
    return text_matches(text, tree_get_text(tree_at(schema_definition(), path), "pattern"), kept);
}

bool object_name_is_valid(const char *text)
{
    static struct kept kept;
    return fits(text, "properties.systems.items.properties.name", &kept);
}

bool sweep_name_is_valid(const char *text)
{
    static struct kept kept;
    return fits(text, "properties.parameters.items.properties.name", &kept);
}

bool free_name_is_valid(const char *text)
{
    static struct kept kept;
    return fits(text, "properties.workload.properties.model", &kept);
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
