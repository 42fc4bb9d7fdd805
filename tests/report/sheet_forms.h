/* The three forms of a sheet for people and programs: text of `width` columns, Markdown and CSV. */
#pragma once

#include "../golden_csv.h"
#include "sheet_as.h"

#define sheet_forms(build, of, width, text, markdown, csv)                                         \
    do {                                                                                           \
        sheet_as(build, of, text, SHEET_TEXT, .columns = width);                                   \
        sheet_as(build, of, markdown, SHEET_MARKDOWN);                                             \
        sheet_as(build, of, csv, SHEET_CSV);                                                       \
    } while (0)

/* As the golden files of that name have them; numbers of the CSV may differ by `relative`. */
#define golden_check_forms(build, of, name, width, relative)                                       \
    do {                                                                                           \
        _cleanup_(buf_done) struct buf text_ = BUF_INIT, csv_ = BUF_INIT;                          \
        sheet_as(build, of, &text_, SHEET_TEXT, .columns = width);                                 \
        sheet_as(build, of, &csv_, SHEET_CSV);                                                     \
        golden_check("tests/report/golden/" name ".txt", buf_cstr(&text_));                        \
        golden_check_csv("tests/report/golden/" name ".csv", buf_cstr(&csv_), relative);           \
    } while (0)

/* A sheet without a row: both texts say so, and the CSV has its header alone. */
#define check_no_rows(build, of, words)                                                            \
    do {                                                                                           \
        _cleanup_(buf_done) struct buf text_ = BUF_INIT, markdown_ = BUF_INIT, csv_ = BUF_INIT;    \
        sheet_forms(build, of, 80, &text_, &markdown_, &csv_);                                     \
        assert_non_null(strstr(buf_cstr(&text_), words));                                          \
        assert_non_null(strstr(buf_cstr(&markdown_), words));                                      \
        assert_null(strchr(strchr(buf_cstr(&csv_), '\n') + 1, '\n'));                              \
    } while (0)
