/* manifests/benchmark-crd.yaml and the schema of a log rule, compiled in; made by embed_text.py. */
#pragma once

#include <stddef.h>

extern const char schema_text_kinds[], schema_text_rule[];
extern const size_t schema_text_kinds_len, schema_text_rule_len;
