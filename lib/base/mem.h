/* Small internal allocations and scope-bound ownership.
 *
 * The x-functions abort when memory is gone: the programs are crash-only, their state lives in the
 * store. Check a size that comes from outside against an explicit limit first (see buf.h). */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *ptr, size_t size);
/* Resizes an array; aborts if count * size overflows. */
void *xreallocarray(void *ptr, size_t count, size_t size);
char *xstrdup(const char *s);
char *xstrdup_or_null(const char *s); /* of NULL: NULL */
char *xstrndup(const char *s, size_t n);
/* A copy of so many bytes; of NULL: NULL. */
void *xmemdup(const void *data, size_t len);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *xvasprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
/* In a function of `fmt` and `...`: its text. */
#define xasprintf_rest(fmt)                                                                        \
    ({                                                                                             \
        va_list ap_;                                                                               \
        va_start(ap_, fmt);                                                                        \
        char *text_ = xvasprintf(fmt, ap_);                                                        \
        va_end(ap_);                                                                               \
        text_;                                                                                     \
    })

#define xnew(type) ((type *)xcalloc(1, sizeof(type)))
/* Of zeros; count may be 0. */
#define xnew_array(type, count) ((type *)xcalloc((count), sizeof(type)))
/* The items of an array, which is no pointer. */
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* `_cleanup_(freep) char *s = ...;` frees s when the scope ends. */
#define _cleanup_(fn) __attribute__((cleanup(fn)))
static inline void freep(void *ptr)
{
    free(*(void **)ptr);
}

/* Frees an array, after done(&item) of each of its items, and sets the variable to NULL. */
#define free_each(items, n, done)                                                                  \
    do {                                                                                           \
        for (size_t i_ = 0; i_ < (n); i_++) {                                                      \
            done(&(items)[i_]);                                                                    \
        }                                                                                          \
        free(items);                                                                               \
        (items) = NULL;                                                                            \
    } while (0)

/* Hands over ownership out of a _cleanup_ variable: returns the value and sets
 * the variable to NULL. */
#define take_ptr(ptr)                                                                              \
    ({                                                                                             \
        __typeof__(ptr) taken_ = (ptr);                                                            \
        (ptr) = NULL;                                                                              \
        taken_;                                                                                    \
    })

/* Closes a descriptor of which nothing can be lost any more: a socket, a pipe, memory, or a file
 * that was only read. So what close says does not matter. Sets it to -1; nothing if it is that.
 * For _cleanup_, too. */
void fd_close(int *fd);
