/* See log_pack.h: from bytes to logs. What it allocates follows from the bytes that the logs have,
 * which are bounded first. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "store/log_column.h"
#include "store/log_pack.h"
#include "store/log_pack_format.h"

struct form {
    const char *text; /* borrowed */
    size_t text_len, n_slots, n_rows;
    size_t next;                /* the row of its next line */
    struct log_number *numbers; /* n_rows x n_slots; owned */
};

struct unpacker {
    struct log_bytes in;
    struct log_piece *pieces; /* owned; `data` is set when their text is there */
    size_t n_pieces, total;
    struct form forms[LOG_PACK_MAX_FORMS + 1]; /* from 1 on */
    size_t n_forms, n_lines;
    const unsigned char *ids;               /* of each line's form; 0: none */
    const unsigned char *plain, *plain_end; /* the lines that have none */
};

void log_unpacked_done(struct log_unpacked *u)
{
    free(u->text);
    free(u->pieces);
    *u = (struct log_unpacked){0};
}

static void unpacker_done(struct unpacker *u)
{
    free(u->pieces);
    for (size_t i = 1; i <= u->n_forms; i++) {
        free(u->forms[i].numbers);
    }
}

static bool get_pieces(struct unpacker *u)
{
    uint64_t n, index, len;
    if (!log_get_varint(&u->in, &n) || n > LOG_PACK_MAX_PIECES) {
        return false;
    }
    u->pieces = xnew_array(struct log_piece, n + 1);
    u->n_pieces = (size_t)n;
    for (size_t i = 0; i < n; i++) {
        if (!log_get_varint(&u->in, &index) || index > UINT32_MAX ||
            !log_get_varint(&u->in, &len) || len > LOG_PACK_MAX_BYTES - u->total) {
            return false;
        }
        u->pieces[i] = (struct log_piece){.index = (uint32_t)index, .len = (size_t)len};
        u->total += (size_t)len;
    }
    return true;
}

static bool get_forms(struct unpacker *u)
{
    uint64_t n, len;
    if (!log_get_varint(&u->in, &n) || n > LOG_PACK_MAX_FORMS) {
        return false;
    }
    for (; u->n_forms < n; u->n_forms++) {
        const unsigned char *text;
        if (!log_get_varint(&u->in, &len) || !log_get_bytes(&u->in, (size_t)len, &text)) {
            return false;
        }
        struct form *form = &u->forms[u->n_forms + 1];
        *form = (struct form){.text = (const char *)text, .text_len = (size_t)len};
        for (size_t i = 0; i < len; i++) {
            form->n_slots += text[i] == LOG_LINE_SLOT;
        }
        if (form->n_slots > LOG_LINE_MAX_NUMBERS) {
            return false;
        }
    }
    return true;
}

static bool get_lines(struct unpacker *u)
{
    uint64_t n, plain_len;
    if (!log_get_varint(&u->in, &n) || n > u->total || !log_get_varint(&u->in, &plain_len) ||
        plain_len > u->total + u->n_pieces || !log_get_bytes(&u->in, (size_t)n, &u->ids) ||
        !log_get_bytes(&u->in, (size_t)plain_len, &u->plain)) {
        return false;
    }
    u->n_lines = (size_t)n;
    u->plain_end = u->plain + plain_len;
    size_t n_numbers = 0; /* each prints a byte or more */
    for (size_t i = 0; i < n; i++) {
        if (u->ids[i] > u->n_forms) {
            return false;
        }
        u->forms[u->ids[i]].n_rows++;
        n_numbers += u->forms[u->ids[i]].n_slots;
    }
    return n_numbers <= u->total;
}

static bool get_numbers(struct unpacker *u)
{
    for (size_t i = 1; i <= u->n_forms; i++) {
        struct form *form = &u->forms[i];
        if (form->n_rows == 0) {
            return false; /* a column needs a number */
        }
        form->numbers = xnew_array(struct log_number, form->n_rows * form->n_slots + 1);
        if (!log_columns_get(&u->in, form->n_rows, form->n_slots, form->numbers)) {
            return false;
        }
    }
    return u->in.at == u->in.end;
}

/* Where a piece is printed to. */
struct room {
    char *at, *end;
};

static bool print(struct room *room, const void *bytes, size_t len)
{
    if ((size_t)(room->end - room->at) < len) {
        return false;
    }
    memcpy(room->at, bytes, len);
    room->at += len;
    return true;
}

static bool print_form(struct room *room, struct form *form)
{
    const struct log_number *number = form->numbers + form->next++ * form->n_slots;
    const char *at = form->text, *end = at + form->text_len;
    for (;;) {
        const char *slot = memchr(at, LOG_LINE_SLOT, (size_t)(end - at));
        if (!print(room, at, (size_t)((slot == NULL ? end : slot) - at))) {
            return false;
        }
        if (slot == NULL) {
            return true;
        }
        char digits[LOG_NUMBER_MAX_DIGITS + 1];
        if (!print(room, digits, log_number_print(number++, digits))) {
            return false;
        }
        at = slot + 1;
    }
}

static bool print_plain(struct room *room, struct unpacker *u)
{
    const unsigned char *newline = memchr(u->plain, '\n', (size_t)(u->plain_end - u->plain));
    if (newline == NULL || !print(room, u->plain, (size_t)(newline - u->plain))) {
        return false;
    }
    u->plain = newline + 1;
    return true;
}

/* The last line of a piece has no newline where the piece's length ends before it. */
static bool print_all(struct unpacker *u, char *text)
{
    size_t line = 0;
    struct room room = {text, text};
    for (size_t i = 0; i < u->n_pieces; i++) {
        u->pieces[i].data = room.at;
        room.end = room.at + u->pieces[i].len;
        while (room.at < room.end) {
            if (line == u->n_lines) {
                return false;
            }
            const uint8_t id = u->ids[line++];
            if (!(id == 0 ? print_plain(&room, u) : print_form(&room, &u->forms[id]))) {
                return false;
            }
            (void)print(&room, "\n", 1); /* unless that was the end */
        }
    }
    return line == u->n_lines && u->plain == u->plain_end;
}

static const char *unpack(struct unpacker *u, char **ret_text)
{
    uint8_t version;
    if (!log_get_byte(&u->in, &version) || version != LOG_PACK_VERSION) {
        return "the version of packed logs";
    }
    if (!get_pieces(u)) {
        return "the lengths of packed logs";
    }
    if (!get_forms(u) || !get_lines(u)) {
        return "the lines of packed logs";
    }
    if (!get_numbers(u)) {
        return "the numbers of packed logs";
    }
    char *text = xmalloc(u->total + 1);
    if (!print_all(u, text)) {
        free(text);
        return "packed logs have another length";
    }
    text[u->total] = '\0';
    *ret_text = text;
    return NULL;
}

int log_unpack(const void *data, size_t len, struct log_unpacked *ret, struct err *err)
{
    struct unpacker u = {.in = {data, (const unsigned char *)data + len}};
    char *text = NULL;
    const char *fault = unpack(&u, &text);
    if (fault == NULL) {
        *ret = (struct log_unpacked){text, take_ptr(u.pieces), u.n_pieces};
    }
    unpacker_done(&u);
    return fault == NULL ? 0 : err_set(err, EBADMSG, "%s", fault);
}
