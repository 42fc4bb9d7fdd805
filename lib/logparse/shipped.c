/* See shipped.h. */
#include "logparse/shipped.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

struct log_rule *log_shipped_load(const char *name)
{
    for (size_t i = 0; i < log_shipped_count; i++) {
        if (str_eq(log_shipped[i].name, name)) {
            struct log_rule *rule = NULL;
            struct diags diags = {0};
            const int r =
                log_rule_load(log_shipped[i].text, strlen(log_shipped[i].text), &rule, &diags);
            assert(r == 0); /* tests/logparse loads every one */
            (void)r;
            diags_done(&diags);
            return rule;
        }
    }
    return NULL;
}

const char *log_shipped_suggest(const char *name)
{
    _cleanup_(freep) const char **names = xnew_array(const char *, log_shipped_count);
    for (size_t i = 0; i < log_shipped_count; i++) {
        names[i] = log_shipped[i].name;
    }
    return suggest_name(name, names, log_shipped_count);
}
