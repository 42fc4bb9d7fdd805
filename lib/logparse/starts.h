/* A program that starts again in the same log: the lines that were before its first step come
 * again. An epoch repeats a few lines of its own, a start most of those. Bounded memory. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_HEAD_LINES 32

struct log_starts {
    uint64_t keys[LOG_HEAD_LINES]; /* different lines before the first step, in their order */
    unsigned n, n_steps;           /* of them; steps, up to as many as a run has */
    uint32_t head;       /* a bit for each line that is of the program, and not of each step */
    uint32_t back, once; /* that came again since the latest step; once, among the first steps */
    uint64_t line;       /* where the first of them did */
};

/* A line of which nothing was read. */
void log_starts_note(struct log_starts *s, uint64_t number, const char *line, size_t len);
/* A step is about to be read: the line where the program has started again; 0: it goes on. */
uint64_t log_starts_step(struct log_starts *s);
