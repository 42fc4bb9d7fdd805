/* The style sheets and the script of charts, and the frame of a page that has both. The build makes
 * the texts from style.css, chart.css and chart.js of this folder, with embed_style.py. */
#pragma once

#include "base/buf.h"

extern const char chart_style[]; /* of a chart as a file: literal colours, for any program */
extern const char page_style[];  /* of a page, with that of charts */
extern const char page_script[]; /* values under the pointer and at the keyboard */
/* "sha256-..." of page_style and page_script, as a Content-Security-Policy names them. */
extern const char page_style_hash[], page_script_hash[];

/* The head of a page with its style, and its title as a heading in an open <header>. `program`
 * follows the title in the browser's tab; `meta` is HTML for the head. In sheet_html.c. */
void html_begin_page(const char *title, const char *program, const char *meta, struct buf *out);
/* Closes <main>, adds the script and closes the page. */
void html_end_page(struct buf *out);
