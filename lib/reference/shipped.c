/* See shipped.h. */
#include "reference/shipped.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "doc/reader.h"

struct reference *reference_shipped_load(const char *name)
{
    for (size_t i = 0; i < reference_shipped_count; i++) {
        if (str_eq(reference_shipped[i].name, name)) {
            const char *text = reference_shipped[i].text;
            struct reference *r = NULL;
            struct diags diags = {0};
            const int loaded = reference_load(text, strlen(text), &r, &diags);
            assert(loaded == 0); /* tests/reference loads every one */
            (void)loaded;
            diags_done(&diags);
            return r;
        }
    }
    return NULL;
}

const char *reference_shipped_suggest(const char *name)
{
    _cleanup_(freep) const char **names = xnew_array(const char *, reference_shipped_count);
    for (size_t i = 0; i < reference_shipped_count; i++) {
        names[i] = reference_shipped[i].name;
    }
    const char *meant = suggest_name(name, names, reference_shipped_count);
    size_t n_begin = 0; /* names that begin so: one is meant, too */
    const char *begins = NULL;
    for (size_t i = 0; i < reference_shipped_count; i++) {
        if (str_has_prefix(names[i], name)) {
            begins = names[i];
            n_begin++;
        }
    }
    return meant == NULL && n_begin == 1 ? begins : meant;
}
