/* Documents as text. Pure. */
#pragma once

#include <jansson.h>

#include "base/buf.h"

/* Indented, with a final newline. The document holds nothing that cannot be dumped. */
/* A text of others, in which a byte that is no UTF-8 becomes '?'; null for NULL. */
json_t *json_text_string(const char *text);
void json_text_put(json_t *document_take, struct buf *out);
