/* What the sections of a page are made of. Pure. */
#pragma once

#include "base/buf.h"

struct table;

/* "<p>text</p>", escaped, and a newline. */
void html_put_element(struct buf *out, const char *name, const char *text);
/* A table that scrolls where it is too wide; `label` is its name for a screen reader. */
void html_put_table(struct buf *out, const char *label, struct table *t_take);
