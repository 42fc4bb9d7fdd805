/* See log_pack.h: from logs to bytes. log_unpack.c is the way back. */
#include "store/log_pack.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "store/log_column.h"
#include "store/log_pack_format.h"

#define LEAST_ROWS 8        /* fewer lines of a form are kept as they are */
#define FORMS_SEEN_MAX 4096 /* lines of other forms are kept as they are */
#define FORM_TABLE 8192     /* a power of two, and twice that */
#define NO_FORM UINT16_MAX

struct form {
    char *text; /* owned */
    size_t text_len, n_slots, n_rows;
    uint8_t id;                     /* 0: its lines are kept as they are */
    VEC(struct log_number) numbers; /* n_rows x n_slots; owned */
};

struct packer {
    VEC(struct form) forms;
    uint16_t
        table[FORM_TABLE]; /* by the hash of its text: the number of the form and one; 0: free */
    VEC(uint16_t) lines;   /* the form of each, or NO_FORM */
    struct form *last;     /* of the line before; NULL: none */
    struct buf text;
};

void log_packed_done(struct log_packed *p)
{
    buf_done(&p->bytes);
    vec_done(&p->breaks);
}

static void packer_done(struct packer *p)
{
    vec_each (struct form, form, &p->forms) {
        free(form->text);
        vec_done(&form->numbers);
    }
    vec_done(&p->forms);
    vec_done(&p->lines);
    buf_done(&p->text);
}

static uint64_t hash_of(const char *text, size_t len)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    }
    return hash ^ hash >> 32;
}

/* Of p->text; NULL: it is new, and there are too many. */
static struct form *find_form(struct packer *p, size_t n_slots)
{
    size_t at = hash_of(p->text.data, p->text.len) % FORM_TABLE;
    for (; p->table[at] != 0; at = (at + 1) % FORM_TABLE) {
        struct form *form = &p->forms.items[p->table[at] - 1];
        if (form->text_len == p->text.len && memcmp(form->text, p->text.data, p->text.len) == 0) {
            return form;
        }
    }
    if (p->forms.len == FORMS_SEEN_MAX) {
        return NULL;
    }
    struct form *form = vec_push(&p->forms);
    *form = (struct form){
        .text = xmalloc(p->text.len + 1), .text_len = p->text.len, .n_slots = n_slots};
    memcpy(form->text, p->text.data, p->text.len);
    p->table[at] = (uint16_t)p->forms.len;
    return form;
}

static void add_line(struct packer *p, const char *line, size_t len)
{
    struct log_number numbers[LOG_LINE_MAX_NUMBERS];
    struct form *form = p->last;
    size_t n = 0;
    if (form == NULL || !log_line_match(form->text, form->text_len, line, len, numbers)) {
        form = len > 0 && log_line_split(line, len, &p->text, numbers, &n) ? find_form(p, n) : NULL;
    }
    *vec_push(&p->lines) = form == NULL ? NO_FORM : (uint16_t)(form - p->forms.items);
    if (form != NULL) {
        for (size_t i = 0; i < form->n_slots; i++) {
            *vec_push(&form->numbers) = numbers[i];
        }
        form->n_rows++;
    }
    p->last = form;
}

/* The line at *at without its newline; moves *at after it. */
static const char *next_line(const char **at, const char *end, size_t *ret_len)
{
    const char *line = *at, *newline = memchr(line, '\n', (size_t)(end - line));
    *ret_len = (size_t)((newline == NULL ? end : newline) - line);
    *at = newline == NULL ? end : newline + 1;
    return line;
}

static void number_forms(struct packer *p, struct buf *out)
{
    size_t n = 0;
    vec_each (struct form, form, &p->forms) {
        if (form->n_rows >= LEAST_ROWS && n < LOG_PACK_MAX_FORMS) {
            form->id = (uint8_t)++n;
        }
    }
    log_put_varint(out, n);
    vec_each (struct form, form, &p->forms) {
        if (form->id > 0) {
            log_put_varint(out, form->text_len);
            buf_append(out, form->text, form->text_len);
        }
    }
}

static uint8_t id_of(const struct packer *p, uint16_t form)
{
    return form == NO_FORM ? 0 : p->forms.items[form].id;
}

/* The form of each line, and the lines that have none. */
static void put_lines(const struct packer *p, const struct log_piece *pieces, size_t n,
                      struct log_packed *out)
{
    struct buf plain = BUF_INIT;
    const uint16_t *form = p->lines.items;
    for (size_t i = 0; i < n; i++) {
        const char *at = pieces[i].data, *end = at + pieces[i].len;
        while (at < end) {
            size_t len;
            const char *line = next_line(&at, end, &len);
            if (id_of(p, *form++) == 0) {
                buf_append(&plain, line, len);
                buf_putc(&plain, '\n');
            }
        }
    }
    log_put_varint(&out->bytes, p->lines.len);
    log_put_varint(&out->bytes, plain.len);
    log_break(out);
    for (size_t i = 0; i < p->lines.len; i++) {
        buf_putc(&out->bytes, (char)id_of(p, p->lines.items[i]));
    }
    log_break(out);
    buf_append(&out->bytes, plain.data, plain.len);
    log_break(out);
    buf_done(&plain);
}

void log_pack(const struct log_piece *pieces, size_t n, struct log_packed *ret)
{
    struct packer p = {0};
    struct log_packed out = {0};
    size_t total = 0;
    assert(n <= LOG_PACK_MAX_PIECES);
    buf_putc(&out.bytes, LOG_PACK_VERSION);
    log_put_varint(&out.bytes, n);
    for (size_t i = 0; i < n; i++) {
        log_put_varint(&out.bytes, pieces[i].index);
        log_put_varint(&out.bytes, pieces[i].len);
        total += pieces[i].len;
        const char *at = pieces[i].data, *end = at + pieces[i].len;
        while (at < end) {
            size_t len;
            const char *line = next_line(&at, end, &len);
            add_line(&p, line, len);
        }
    }
    assert(total <= LOG_PACK_MAX_BYTES);
    number_forms(&p, &out.bytes);
    put_lines(&p, pieces, n, &out);
    vec_each (const struct form, form, &p.forms) {
        if (form->id > 0) {
            log_columns_put(form->numbers.items, form->n_rows, form->n_slots, &out);
        }
    }
    packer_done(&p);
    *ret = out;
}
