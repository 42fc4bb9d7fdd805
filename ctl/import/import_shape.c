/* See import_shape.h. */
#include "ctl/import/import_shape.h"

#include <string.h>

#include "base/ascii.h"
#include "base/parse.h"
#include "base/str.h"
#include "logparse/lines.h"

#define BATCH_FACTS 2 /* the first ones */
#define WORD_FACTS 2  /* the last ones: their values need not be numbers */
const char *const import_fact_names[IMPORT_FACTS] = {"global_batch_size",
                                                     "global batch size",
                                                     "hidden_size",
                                                     "num_layers",
                                                     "num_attention_heads",
                                                     "seq_length",
                                                     "seq_len",
                                                     "max_seq_len",
                                                     "n_layer",
                                                     "n_embd",
                                                     "n_head",
                                                     "block_size",
                                                     "model_name",
                                                     "arch"};

struct search {
    struct log_lines lines;
    struct import_shape *shape;
};

/* "NAME ...... 6144", "NAME=6144", "'NAME': 6144": the value after the name at `at`. */
static void take_value(const char *line, size_t len, size_t at, bool is_word,
                       struct import_fact *fact, uint64_t number)
{
    const size_t begin = at;
    bool has_sign = false;
    while (at < len && strchr(" .=:\"'", line[at]) != NULL) {
        has_sign = has_sign || strchr(".=:", line[at]) != NULL;
        at++;
    }
    size_t n = 0;
    while (at + n < len && n + 1 < sizeof(fact->value) &&
           (ascii_is_digit(line[at + n]) ||
            (is_word && (ascii_is_alnum(line[at + n]) || strchr("_-./", line[at + n]) != NULL)))) {
        n++;
    }
    const char after = at + n < len ? line[at + n] : ' ';
    if (at > begin && has_sign && n > 0 && !ascii_is_alnum(after) && after != '.') {
        const bool is_first = fact->line == 0;
        fact->varies = !is_first && (fact->varies || strlen(fact->value) != n ||
                                     memcmp(fact->value, line + at, n) != 0);
        (void)memcpy(fact->value, line + at, n);
        fact->value[n] = '\0';
        fact->line = is_first ? number : fact->line;
    }
}

static void on_line(void *ctx, const char *line, size_t len)
{
    struct search *s = ctx;
    for (size_t i = 0; i < IMPORT_FACTS; i++) {
        struct import_fact *fact = &s->shape->facts[i];
        const char *name = import_fact_names[i];
        const char *at = memmem(line, len, name, strlen(name));
        if (at != NULL && (at == line || (!ascii_is_alnum(at[-1]) && at[-1] != '_'))) {
            take_value(line, len, (size_t)(at - line) + strlen(name),
                       i >= IMPORT_FACTS - WORD_FACTS, fact, s->lines.number);
        }
    }
}

void import_shape_read(const char *text, size_t len, int64_t trainers, struct import_shape *ret)
{
    struct search s = {.shape = ret};
    *ret = (struct import_shape){.trainers = trainers};
    log_lines_init(&s.lines, on_line, &s);
    log_lines_feed(&s.lines, text, len);
    log_lines_end(&s.lines);
    log_lines_done(&s.lines);
}

bool import_shape_differs(const struct import_shape *a, const struct import_shape *b, size_t fact)
{
    const struct import_fact *x = &a->facts[fact], *y = &b->facts[fact];
    if (x->line == 0 || y->line == 0 || x->varies || y->varies || str_eq(x->value, y->value)) {
        return false;
    }
    int64_t n_x, n_y;
    return fact >= BATCH_FACTS || parse_i64(x->value, &n_x) < 0 || parse_i64(y->value, &n_y) < 0 ||
           (double)n_x * (double)b->trainers != (double)n_y * (double)a->trainers;
}
