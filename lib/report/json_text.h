/* Documents as text. Pure. */
#pragma once

#include <jansson.h>

#include "base/buf.h"

/* Indented, with a final newline. The document holds nothing that cannot be dumped. */
void json_text_put(json_t *document_take, struct buf *out);
