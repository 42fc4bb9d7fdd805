/* See signs.h. */
#include "logparse/signs.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "doc/embedded.h"
#include "doc/reader.h"
#include "logparse/lines.h"
#include "logparse/pattern.h"

extern const struct embedded log_signs_text[]; /* made of signs.yaml by embed.py */

static const char *const when_names[] = {"Always", "Training", "Step"};

struct log_signs {
    VEC(struct log_sign) list;
    struct log_matcher *matcher;
};

static void read_sign(const struct place *item, struct log_sign *sign)
{
    struct err err;
    size_t offset;
    *sign = (struct log_sign){.name = xstrdup(place_text(item, "name")),
                              .says = xstrdup(place_text(item, "says"))};
    sign->when = place_enum(item, "when", when_names, LOG_SIGN_ALWAYS);
    const int r = log_pattern_new(place_text(item, "pattern"), &sign->pattern, &offset, &err);
    assert(r == 0); /* tests/logparse/test_reading.c loads the file and checks its form */
    (void)r;
}

struct log_signs *log_signs_new(void)
{
    const char *text = log_signs_text[0].text;
    struct log_signs *s = xnew(struct log_signs);
    struct diags diags = {0};
    struct node *root = NULL;
    const int r = tree_parse(text, strlen(text), &TREE_LIMITS_DEFAULT, &root, &diags);
    assert(r == 0); /* as above */
    (void)r;
    const struct place place = place_root(root, NULL);
    place_items (item, &place, "signs") {
        read_sign(&item, vec_push(&s->list));
    }
    tree_free(root);
    s->matcher = log_matcher_new();
    return s;
}

void log_signs_free(struct log_signs *s)
{
    if (s == NULL) {
        return;
    }
    vec_each (struct log_sign, it, &s->list) {
        free(it->name);
        free(it->says);
        log_pattern_free(it->pattern);
    }
    vec_done(&s->list);
    log_matcher_free(s->matcher);
    free(s);
}

const struct log_sign *log_signs_find(struct log_signs *s, bool is_step, const char *line,
                                      size_t len)
{
    struct log_match match;
    return vec_find(&s->list, it,
                    (it->when == LOG_SIGN_STEP) == is_step &&
                        log_matcher_run(s->matcher, it->pattern, line, len, &match) > 0);
}

struct search {
    struct log_signs *signs;
    const struct log_sign *found;
    struct log_quote at;
};

static void on_line(void *ctx, uint64_t number, const char *line, size_t len)
{
    struct search *s = ctx;
    const struct log_sign *sign = log_signs_find(s->signs, false, line, len);
    if (sign != NULL && (s->found == NULL || sign > s->found)) { /* the later ones say more */
        s->found = sign;
        log_quote_put(&s->at, number, line, len);
    }
}

char *log_signs_in(const char *text, size_t len)
{
    struct search s = {.signs = log_signs_new()};
    log_lines_each(text, len, on_line, &s);
    char *said = s.found == NULL ? NULL
                                 : xasprintf("line %llu: %s: %s", (unsigned long long)s.at.number,
                                             s.found->says, s.at.text);
    log_signs_free(s.signs);
    return said;
}
