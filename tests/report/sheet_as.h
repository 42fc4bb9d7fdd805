/* A sheet in one form: sheet_as(sheet_nodes, result, &out, SHEET_TEXT, .columns = 80). */
#pragma once

#include "report/sheets.h"

#define sheet_as(build, of, out, form, ...)                                                        \
    do {                                                                                           \
        struct sheet sheet_;                                                                       \
        sheet_init(&sheet_, form, &(struct terminal){__VA_ARGS__});                                \
        build(&sheet_, of);                                                                        \
        sheet_write(&sheet_, out);                                                                 \
    } while (0)
