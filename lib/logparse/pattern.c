/* See pattern.h. */
#include "logparse/pattern.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

/* A pattern of somebody else must neither hang nor fill the memory. A good one needs a few dozen
 * steps on a line; the limits hold for the just-in-time code too. PCRE2 counts the steps of each
 * place of the line at which a match may begin, so a longer line has fewer at each. */
#define LINE_STEPS 750000
#define MATCH_LIMIT 20000
/* One step may look at the whole line. So many places are tried between two looks at the clock. */
#define PLACES 128
#define DEPTH_LIMIT 1000
#define HEAP_LIMIT_KIB 1024
#define NEST_LIMIT 50
#define MAX_CAPTURES 63
#define MANY_USES 100

struct numbered { /* groups of one name may have several numbers: alternatives */
    uint32_t number;
    enum log_group group;
};

struct log_pattern {
    pcre2_code *code;
    VEC(struct numbered) groups;
    bool has[LOG_GROUP_COUNT];
};

struct log_matcher {
    pcre2_match_data *data;
    pcre2_match_context *context;
    int64_t (*cpu_ns)(void); /* NULL: no limit */
    int64_t until_ns;
    struct log_pattern *own[LOG_MATCHER_SLOTS]; /* owned; NULL: not compiled yet */
    uint32_t n_uses[LOG_MATCHER_SLOTS];
};

static int refuse_name(const char *name, struct err *err)
{
    const char *meant = str_suggest(name, log_group_names, LOG_GROUP_COUNT);
    if (meant != NULL) {
        return err_set(err, EINVAL, "no group is called '%s'; did you mean '%s'?", name, meant);
    }
    _cleanup_(buf_done) struct buf names = BUF_INIT;
    for (int i = 0; i < LOG_GROUP_COUNT; i++) {
        buf_printf(&names, "%s%s", i == 0 ? "" : ", ", log_group_names[i]);
    }
    return err_set(err, EINVAL, "no group is called '%s'; the names are %s", name,
                   buf_cstr(&names));
}

/* The table of names: for each the number, two bytes, and its text. */
static int read_names(struct log_pattern *p, const char *text, size_t *ret_offset, struct err *err)
{
    uint32_t n = 0, size = 0;
    PCRE2_SPTR table = NULL;
    (void)pcre2_pattern_info(p->code, PCRE2_INFO_NAMECOUNT, &n); /* cannot fail: it is compiled */
    (void)pcre2_pattern_info(p->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
    (void)pcre2_pattern_info(p->code, PCRE2_INFO_NAMETABLE, &table);
    for (uint32_t i = 0; i < n; i++) {
        const unsigned char *entry = table + (size_t)i * size;
        const char *name = (const char *)entry + 2;
        const int group = log_group_find(name, strlen(name));
        if (group < 0) {
            const char *at = strstr(text, name);
            *ret_offset = at == NULL ? 0 : (size_t)(at - text);
            return refuse_name(name, err);
        }
        *vec_push(&p->groups) = (struct numbered){
            .number = (uint32_t)entry[0] << 8 | entry[1],
            .group = (enum log_group)group,
        };
        p->has[group] = true;
    }
    return 0;
}

static void *grab(size_t size, void *ctx)
{
    (void)ctx; /* there is one heap */
    return xmalloc(size);
}

static void release(void *memory, void *ctx)
{
    (void)ctx; /* as above */
    free(memory);
}

/* With this memory nothing that PCRE2 creates is NULL. Free it with pcre2_general_context_free. */
static pcre2_general_context *new_memory(void)
{
    return pcre2_general_context_create(grab, release, NULL);
}

static int compile(const char *filled, uint32_t options, pcre2_code **ret, size_t *ret_offset,
                   struct err *err)
{
    pcre2_general_context *memory = new_memory();
    pcre2_compile_context *context = pcre2_compile_context_create(memory);
    (void)pcre2_set_parens_nest_limit(context, NEST_LIMIT); /* always 0 */
    int code = 0;
    PCRE2_SIZE offset = 0;
    *ret =
        pcre2_compile((PCRE2_SPTR)filled, PCRE2_ZERO_TERMINATED,
                      PCRE2_DUPNAMES | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT | options,
                      &code, &offset, context);
    pcre2_compile_context_free(context);
    pcre2_general_context_free(memory);
    if (*ret == NULL) {
        char why[160];
        (void)pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why)); /* cut if too long */
        *ret_offset = offset;
        return err_set(err, EINVAL, "%s", why);
    }
    return 0;
}

/* A match of nothing would be a match of every line. */
static int check_shape(const struct log_pattern *p, struct err *err)
{
    uint32_t captures = 0, min_len = 0;
    (void)pcre2_pattern_info(p->code, PCRE2_INFO_CAPTURECOUNT, &captures);
    (void)pcre2_pattern_info(p->code, PCRE2_INFO_MINLENGTH, &min_len);
    if (captures > MAX_CAPTURES) {
        return err_set(err, EINVAL, "more than %d groups", MAX_CAPTURES);
    }
    return min_len == 0 ? err_set(err, EINVAL, "it matches an empty line") : 0;
}

/* Makes machine code, which takes as long as some dozen matches. Without it the matches are the
 * same. */
static void speed_up(struct log_pattern *p)
{
    (void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
}

static int new_pattern(const char *text, uint32_t options, struct log_pattern **ret,
                       size_t *ret_offset, struct err *err)
{
    _cleanup_(buf_done) struct buf filled = BUF_INIT;
    scan_fill_groups(text, &filled);
    struct log_pattern *p = xnew(struct log_pattern);
    int r = compile(buf_cstr(&filled), options, &p->code, ret_offset, err);
    if (r < 0) {
        *ret_offset = scan_written_offset(text, *ret_offset);
    }
    if (r < 0 || (r = read_names(p, text, ret_offset, err)) < 0 || (r = check_shape(p, err)) < 0) {
        log_pattern_free(p);
        return r;
    }
    *ret = p;
    return 0;
}

int log_pattern_new(const char *text, struct log_pattern **ret, size_t *ret_offset, struct err *err)
{
    *ret_offset = 0;
    if (strlen(text) > LOG_PATTERN_MAX) {
        return err_set(err, EINVAL, "longer than %d bytes", LOG_PATTERN_MAX);
    }
    const int r = new_pattern(text, 0, ret, ret_offset, err);
    if (r == 0) {
        speed_up(*ret);
    }
    return r;
}

void log_pattern_free(struct log_pattern *p)
{
    if (p == NULL) {
        return;
    }
    pcre2_code_free(p->code);
    vec_done(&p->groups);
    free(p);
}

bool log_pattern_has(const struct log_pattern *p, enum log_group group)
{
    return p->has[group];
}

struct log_matcher *log_matcher_new(void)
{
    struct log_matcher *m = xnew(struct log_matcher);
    pcre2_general_context *memory = new_memory();
    m->data = pcre2_match_data_create(MAX_CAPTURES + 1, memory);
    m->context = pcre2_match_context_create(memory);
    pcre2_general_context_free(memory);
    /* Each returns 0. */
    (void)pcre2_set_depth_limit(m->context, DEPTH_LIMIT);
    (void)pcre2_set_heap_limit(m->context, HEAP_LIMIT_KIB);
    return m;
}

void log_matcher_free(struct log_matcher *m)
{
    if (m != NULL) {
        for (size_t i = 0; i < COUNT_OF(m->own); i++) {
            log_pattern_free(m->own[i]);
        }
        pcre2_match_data_free(m->data);
        pcre2_match_context_free(m->context);
        free(m);
    }
}

void log_matcher_limit(struct log_matcher *m, int64_t (*cpu_ns)(void), int64_t until_ns)
{
    m->cpu_ns = cpu_ns;
    m->until_ns = until_ns;
}

/* A match begins at the offset or before it. */
static void set_limits(struct log_matcher *m, size_t len, size_t offset)
{
    const size_t steps = LINE_STEPS / (len + 1);
    const uint32_t limit = steps < MATCH_LIMIT ? (uint32_t)steps : MATCH_LIMIT;
    (void)pcre2_set_match_limit(m->context, limit); /* both always return 0 */
    (void)pcre2_set_offset_limit(m->context, offset);
}

static void take_groups(struct log_matcher *m, const struct log_pattern *p, const char *line,
                        uint32_t n, struct log_match *ret)
{
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(m->data);
    *ret = (struct log_match){.line = line, .matcher = m, .begin = at[0], .end = at[1]};
    vec_each (const struct numbered, g, &p->groups) {
        if (g->number < n && at[2 * g->number] != PCRE2_UNSET) {
            ret->text[g->group] = line + at[2 * g->number];
            ret->len[g->group] = at[2 * g->number + 1] - at[2 * g->number];
        }
    }
}

int log_matcher_run(struct log_matcher *m, const struct log_pattern *p, const char *line,
                    size_t len, struct log_match *ret)
{
    int n = PCRE2_ERROR_NOMATCH;
    for (size_t at = 0; at <= len && n == PCRE2_ERROR_NOMATCH; at += PLACES) {
        if (at > 0 && m->cpu_ns != NULL && m->cpu_ns() >= m->until_ns) {
            return -ETIME;
        }
        set_limits(m, len, at + PLACES - 1);
        n = pcre2_match(p->code, (PCRE2_SPTR)line, len, at, 0, m->data, m->context);
    }
    if (n == PCRE2_ERROR_NOMATCH) {
        return 0;
    }
    if (n <= 0) {
        return -E2BIG; /* a limit; no other error is possible without UTF */
    }
    take_groups(m, p, line, (uint32_t)n, ret);
    return 1;
}

bool log_matcher_find(struct log_matcher *m, unsigned slot, const char *pattern, const char *line,
                      size_t len, size_t from, struct log_match *ret)
{
    struct log_pattern **own = &m->own[slot];
    if (*own == NULL) {
        struct err err;
        size_t offset;
        const int r = new_pattern(pattern, PCRE2_CASELESS, own, &offset, &err);
        assert(r == 0); /* tests/logparse/test_suggest.c compiles all */
        (void)r;
    }
    if (++m->n_uses[slot] == MANY_USES) {
        speed_up(*own);
    }
    set_limits(m, len, len);
    const int n = pcre2_match((*own)->code, (PCRE2_SPTR)line, len, from, 0, m->data, m->context);
    if (n > 0) {
        take_groups(m, *own, line, (uint32_t)n, ret);
    }
    return n > 0;
}
