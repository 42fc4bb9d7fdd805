/* See expand.h. */
#include "pod/expand.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec_walk.h"

/* The entry of that name, and where in it the value begins; NULL: not set. */
static char **find(const struct texts *env, const char *name, size_t len)
{
    return vec_find(&env->list, it, strncmp(*it, name, len) == 0 && (*it)[len] == '=');
}

void expand_env_set(struct texts *env, const char *name, const char *value)
{
    char **old = find(env, name, strlen(name));
    if (old == NULL) {
        old = vec_push(&env->list);
    } else {
        free(*old);
    }
    *old = xasprintf("%s=%s", name, value);
}

/* What follows a dollar: a second one, a reference, or anything else. Returns its end. */
static const char *put_reference(const char *at, const struct texts *env, struct buf *out)
{
    const char *end = *at == '(' ? strchr(at, ')') : NULL;
    if (*at == '$') {
        buf_putc(out, '$');
        return at + 1;
    }
    if (end == NULL) {
        buf_putc(out, '$');
        return at; /* an unfinished reference, or a dollar before something else */
    }
    const size_t len = (size_t)(end - at) - 1;
    char **entry = find(env, at + 1, len);
    if (entry == NULL) {
        buf_printf(out, "$(%.*s)", (int)len, at + 1);
    } else {
        buf_puts(out, *entry + len + 1);
    }
    return end + 1;
}

/* With `env` references are replaced, without it they are escaped. */
static char *rewrite(const char *text, const struct texts *env)
{
    struct buf out = BUF_INIT;
    while (*text != '\0') {
        const size_t plain = strcspn(text, "$");
        buf_append(&out, text, plain);
        text += plain;
        if (*text == '$' && env != NULL) {
            text = put_reference(text + 1, env, &out);
        } else if (*text == '$') {
            buf_puts(&out, text[1] == '(' || text[1] == '$' ? "$$" : "$");
            text++;
        }
    }
    return out.data == NULL ? xstrdup("") : buf_take(&out);
}

char *expand(const char *text, const struct texts *env)
{
    return rewrite(text, env);
}

char *expand_escape(const char *text)
{
    return rewrite(text, NULL);
}
