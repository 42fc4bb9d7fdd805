/* Whether a document has the form that a schema says (openapi.h). Pure. */
#pragma once

#include "doc/reader.h"

/* Notes the value there, and each below it, that is not of the form that its schema says, and marks
 * it (is_wrong), so that getters (reader.h) read the default in its place. */
void schema_check(struct diags *d, const struct place *place);
/* The same for one value that is left to a function (x-rule), at its time. True: it is right. */
bool schema_check_value(struct diags *d, const struct place *place);
/* For a number of which a function knows the bounds. */
bool schema_check_int(struct diags *d, const struct place *place, long long min, long long max);
/* For a text of which a function knows the words: its index, or -1 and a note. */
int schema_check_word(struct diags *d, const struct place *place, const char *const *words,
                      size_t n);
