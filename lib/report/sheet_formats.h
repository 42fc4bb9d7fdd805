/* The writers of sheets, one a format: sheet_text.c, sheet_markdown.c, sheet_html.c,
 * sheet_csv.c. Called by sheet.c alone. Pure. */
#pragma once

#include "report/sheet.h"

void sheet_write_text(const struct sheet *s, struct buf *out);
void sheet_write_markdown(const struct sheet *s, struct buf *out);
void sheet_write_html(const struct sheet *s, struct buf *out);
/* RFC 4180, header first; numbers with all digits needed to read them back, empty cells for what is
 * not known. */
void sheet_write_csv(const struct sheet *s, struct buf *out);
