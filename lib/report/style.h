/* The style sheets. The build makes them from style.css and chart.css of this folder, with
 * embed_style.py. */
#pragma once

extern const char chart_style[]; /* of charts alone */
extern const char page_style[];  /* of a page, with that of charts */
/* "sha256-..." of page_style, as a Content-Security-Policy names it. */
extern const char page_style_hash[];
