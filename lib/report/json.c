/* A result as its JSON document, see report.h. */
#include "report/json_text.h"
#include "report/report.h"
#include "result/result_json.h"

void report_json(const struct result *r, struct buf *out)
{
    json_text_put(result_to_json(r), out);
}
