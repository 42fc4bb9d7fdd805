/* The style sheets and the script of charts. The build makes them from style.css, chart.css and
 * chart.js of this folder, with embed_style.py. */
#pragma once

extern const char chart_style[]; /* of charts alone */
extern const char page_style[];  /* of a page, with that of charts */
extern const char page_script[]; /* values under the pointer and at the keyboard */
/* "sha256-..." of page_style and page_script, as a Content-Security-Policy names them. */
extern const char page_style_hash[], page_script_hash[];
