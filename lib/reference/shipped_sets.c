/* See shipped_sets.h. */
#include "reference/shipped_sets.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"

struct reference *reference_shipped_load(const char *name)
{
    const struct embedded *file = embedded_find(reference_shipped, reference_shipped_count, name);
    if (file == NULL) {
        return NULL;
    }
    struct reference *reference = NULL;
    struct diags diags = {0};
    const int r = reference_load(file->text, strlen(file->text), &reference, &diags);
    assert(r == 0); /* tests/reference loads every one */
    (void)r;
    diags_done(&diags);
    return reference;
}

const char *reference_shipped_suggest(const char *name)
{
    const char *meant = embedded_suggest(reference_shipped, reference_shipped_count, name);
    size_t n_begin = 0; /* names that begin so: one is meant, too */
    const char *begins = NULL;
    for (size_t i = 0; i < reference_shipped_count; i++) {
        if (str_has_prefix(reference_shipped[i].name, name)) {
            begins = reference_shipped[i].name;
            n_begin++;
        }
    }
    return meant == NULL && n_begin == 1 ? begins : meant;
}
