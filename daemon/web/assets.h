/* The texts of web.css and live.js, compiled in; made by embed_text.py. */
#pragma once

extern const char asset_style[];
extern const char asset_script[];
