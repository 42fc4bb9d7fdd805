/* What a gate says of a run: for people, for a page of a forge, for its list of tests, and
 * as a document. Pure. */
#pragma once

#include "report/report.h"
#include "result/gate.h"

void report_gate_text(const struct gate *g, const struct report_opts *opts, struct buf *out);
void report_gate_markdown(const struct gate *g, struct buf *out);
/* JUnit's XML: a test case a check. What is slower or missed is a failure, what
 * is not known an error. */
void report_gate_junit(const struct gate *g, struct buf *out);
/* The document of docs/contracts/gate.md. */
void report_gate_json(const struct gate *g, struct buf *out);
