/* See shipped_rules.h. */
#include "logparse/shipped_rules.h"

#include <assert.h>
#include <string.h>

struct log_rule *log_shipped_load(const char *name)
{
    const struct embedded *file = embedded_find(log_shipped, log_shipped_count, name);
    if (file == NULL) {
        return NULL;
    }
    struct log_rule *rule = NULL;
    struct diags diags = {0};
    const int r = log_rule_load(file->text, strlen(file->text), &rule, &diags);
    assert(r == 0); /* tests/logparse loads every one */
    (void)r;
    diags_done(&diags);
    return rule;
}
