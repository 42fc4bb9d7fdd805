/* See embedded.h. */
#include "doc/embedded.h"

#include "base/mem.h"
#include "base/str.h"
#include "doc/reader.h"

const struct embedded *embedded_find(const struct embedded *rows, size_t n, const char *name)
{
    return array_find(rows, n, it, str_eq(it->name, name));
}

const char *embedded_suggest(const struct embedded *rows, size_t n, const char *name)
{
    _cleanup_(freep) const char **names = xnew_array(const char *, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = rows[i].name;
    }
    return suggest_name(name, names, n);
}

char *embedded_fix(const struct embedded *rows, size_t n, const char *name, const char *others)
{
    const char *meant = embedded_suggest(rows, n, name);
    if (meant != NULL) {
        return xasprintf("did you mean '%s'?", meant);
    }
    struct buf fix = BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        buf_printf(&fix, "%s%s", i == 0 ? others : ", ", rows[i].name);
    }
    return buf_take(&fix);
}
