/* A main for fuzz targets where there is no libFuzzer: runs every file of the folders given, then
 * mutations of them until the time is over.
 *
 *     smoke SECONDS SEED FOLDER...
 *
 * Mutation i depends on SEED and i alone. The number of the one under way is printed each thousand:
 * after a crash, run with SECONDS 600 under a debugger, or use clang and libFuzzer. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/splitmix.h"
#include "base/vec.h"

#define INPUT_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct corpus {
    VEC(struct buf) list;
};

/* clang-format off */
static const char *const tokens[] = {
    "*", "&a ", "*a", "{", "}", "[", "]", ": ", "- ", "\t", "\n", "no", "012", "<<: ", "!!str ",
    "\"", "'", "---\n", "0", "-1", "1.5", "99999999999999999999", "null", "from", "value", "grid",
    "points", "exclude", "where", "local", "trainers", "pservers", "batch_size", "kind",
    "None", "Point", "\xff", "\xef\xbb\xbf", "\\u0000", "#", "|\n", "? ", ",", "~",
};
/* clang-format on */

static size_t below(uint64_t *state, size_t n)
{
    return n == 0 ? 0 : splitmix_next(state) % n;
}

static int add_file(struct corpus *corpus, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    struct buf *text = vec_push(&corpus->list);
    buf_init(text, 0);
    char chunk[4096];
    for (size_t n; (n = fread(chunk, 1, sizeof(chunk), file)) > 0 && text->len < INPUT_MAX;) {
        buf_append(text, chunk, n);
    }
    return fclose(file);
}

static int add_folder(struct corpus *corpus, const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort); /* sorted: the same mutations everywhere */
    if (n < 0) {
        perror(path);
        return -1;
    }
    int result = 0;
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.') {
            _cleanup_(freep) char *file = xasprintf("%s/%s", path, entries[i]->d_name);
            result |= add_file(corpus, file);
        }
        free(entries[i]);
    }
    free(entries);
    return result;
}

/* Puts `len` bytes in place of `cut` bytes at `at`. */
static void splice(struct buf *b, size_t at, size_t cut, const char *data, size_t len)
{
    struct buf out = BUF_INIT;
    buf_append(&out, b->data, at);
    buf_append(&out, data, len);
    buf_append(&out, b->data + at + cut, b->len - at - cut);
    buf_done(b);
    *b = out;
}

static void mutate(struct buf *b, const struct corpus *corpus, uint64_t *state)
{
    size_t at = below(state, b->len + 1);
    size_t cut = below(state, b->len - at + 1);
    const struct buf *other = &corpus->list.items[below(state, corpus->list.len)];
    size_t from = below(state, other->len + 1);
    const char *token = tokens[below(state, sizeof(tokens) / sizeof(tokens[0]))];
    char byte = (char)splitmix_next(state);
    switch (below(state, 6)) {
    case 0: /* a byte changes */
        splice(b, at, cut > 0, &byte, 1);
        break;
    case 1: /* a stretch goes */
        splice(b, at, cut > 16 ? cut % 16 : cut, "", 0);
        break;
    case 2: /* a token comes */
    case 3:
        splice(b, at, 0, token, strlen(token));
        break;
    case 4: /* a token takes the place of some bytes */
        splice(b, at, cut % 8, token, strlen(token));
        break;
    case 5: /* a stretch of another input */
        splice(b, at, cut % 32, buf_cstr(other) + from, below(state, other->len - from + 1) % 200);
        break;
    default:
        break;
    }
}

static void run(const struct buf *b)
{
    /* An exact copy on the heap: reading one byte too far is seen by the sanitizer. */
    _cleanup_(freep) uint8_t *copy = xmalloc(b->len + (b->len == 0));
    if (b->len > 0) {
        memcpy(copy, b->data, b->len);
    }
    (void)LLVMFuzzerTestOneInput(copy, b->len); /* always 0; it aborts when something is wrong */
}

int main(int argc, char **argv)
{
    uint64_t seconds, seed;
    struct corpus corpus = {0};
    if (argc < 4 || parse_u64(argv[1], &seconds) < 0 || parse_u64(argv[2], &seed) < 0) {
        (void)fprintf(stderr, "usage: %s SECONDS SEED FOLDER...\n", argv[0]);
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        if (add_folder(&corpus, argv[i]) < 0) {
            return 1;
        }
    }
    vec_each (const struct buf, it, &corpus.list) {
        run(it);
    }
    int64_t end_ns = clock_monotonic_ns() + (int64_t)seconds * 1000000000;
    uint64_t n = 0;
    for (; clock_monotonic_ns() < end_ns && corpus.list.len > 0; n++) {
        uint64_t state = seed * 1000003 + n;
        _cleanup_(buf_done) struct buf b = BUF_INIT;
        const struct buf *source = &corpus.list.items[below(&state, corpus.list.len)];
        buf_append(&b, source->data, source->len);
        for (size_t k = 1 + below(&state, 4); k > 0; k--) {
            mutate(&b, &corpus, &state);
        }
        if (n % 1000 == 0) {
            (void)fprintf(stderr, "mutation %llu\n", (unsigned long long)n);
        }
        run(&b);
    }
    (void)printf("%zu inputs and %llu mutations, seed %llu\n", corpus.list.len,
                 (unsigned long long)n, (unsigned long long)seed);
    bool is_empty = corpus.list.len == 0;
    vec_each (struct buf, it, &corpus.list) {
        buf_done(it);
    }
    vec_done(&corpus.list);
    return is_empty;
}
