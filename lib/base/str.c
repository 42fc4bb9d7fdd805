/* String helpers, see str.h. */
#include "base/str.h"

#include <errno.h>
#include <string.h>

#define DISTANCE_LEN_MAX 64

bool str_eq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool str_eq_or_null(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : str_eq(a, b);
}

bool str_has_prefix(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_has_suffix(const char *s, const char *suffix)
{
    size_t len = strlen(s);
    size_t suffix_len = strlen(suffix);
    return len >= suffix_len && memcmp(s + len - suffix_len, suffix, suffix_len) == 0;
}

bool str_eq_nocase(const char *a, const char *b)
{
    return str_eq_nocase_n(a, b, SIZE_MAX);
}

bool str_eq_nocase_n(const char *a, const char *b, size_t n)
{
    for (; n > 0 && *a != '\0' && ascii_lower(*a) == ascii_lower(*b); n--) {
        a++;
        b++;
    }
    return n == 0 || *a == *b; /* the first byte that differs is not the end of both */
}

const char *str_find_nocase(const char *text, const char *wanted)
{
    const size_t len = strlen(wanted);
    while (*text != '\0' && !str_eq_nocase_n(text, wanted, len)) {
        text++;
    }
    return *text != '\0' || len == 0 ? text : NULL;
}

bool str_is_one_of(const char *s, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (str_eq(s, *list)) {
            return true;
        }
    }
    return false;
}

int str_index(const char *s, const char *const *list, size_t n)
{
    return str_index_n(s, strlen(s), list, n);
}

int str_index_n(const char *s, size_t len, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strlen(list[i]) == len && memcmp(list[i], s, len) == 0) {
            return (int)i;
        }
    }
    return -EINVAL;
}

uint64_t str_hash(const char *data, size_t len)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++) {
        h = (h ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
    }
    return h;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

size_t str_distance(const char *a, const char *b)
{
    size_t a_len = strlen(a);
    size_t b_len = strlen(b);
    if (a_len > DISTANCE_LEN_MAX || b_len > DISTANCE_LEN_MAX) {
        return SIZE_MAX;
    }
    size_t rows[3][DISTANCE_LEN_MAX + 1]; /* two back, one back, current */
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_len; j++) {
        above[j] = j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t change = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = min3(above[j] + 1, row[j - 1] + 1, change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < row[j]) {
                row[j] = before[j - 2] + 1;
            }
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_len];
}

const char *str_suggest(const char *word, const char *const *candidates, size_t n)
{
    const char *best = NULL;
    size_t best_distance = 3;
    bool tie = false;
    for (size_t i = 0; i < n; i++) {
        size_t d = str_distance(word, candidates[i]);
        if (d < best_distance) {
            best = candidates[i];
            best_distance = d;
            tie = false;
        } else if (d == best_distance && best != NULL) {
            tie = true;
        }
    }
    return tie || best_distance >= strlen(word) ? NULL : best;
}
