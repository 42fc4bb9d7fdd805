/* manifests/benchmark-crd.yaml and the schema of a log rule, compiled in; made by embed_text.py. */
#pragma once

extern const char schema_text_kinds[], schema_text_rule[];
