/* The texts of web.css and live.js; embed.py writes them into a C file. */
#pragma once

extern const char asset_style[];
extern const char asset_script[];
