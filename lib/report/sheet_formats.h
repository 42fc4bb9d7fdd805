/* The writers of sheets, one a format: sheet_text.c, sheet_markdown.c, sheet_html.c,
 * sheet_csv.c, sheet_junit.c. Called by sheet.c alone, which writes JSON and a chart. Pure. */
#pragma once

#include "report/sheet.h"

void sheet_write_text(const struct sheet *s, struct buf *out);
void sheet_write_markdown(const struct sheet *s, struct buf *out);
void sheet_write_html(const struct sheet *s, struct buf *out);
/* RFC 4180, header first; numbers with all digits needed to read them back, empty cells for what is
 * not known. */
void sheet_write_csv(const struct sheet *s, struct buf *out);
/* Rows of "kind", "name", "outcome" and "message" (gate_sheet.c): what is "Failed" is a failure,
 * what is "Unknown" an error. */
void sheet_write_junit(const struct sheet *s, struct buf *out);
