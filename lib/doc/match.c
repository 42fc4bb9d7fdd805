/* See match.h. */
#include "doc/match.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

bool text_matches(const char *text, const char *pattern, struct kept *kept)
{
    int error;
    size_t at;
    pcre2_code *code = kept == NULL ? NULL : kept_get(kept), *mine = NULL;
    if (code == NULL) {
        code = mine = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                    PCRE2_DOLLAR_ENDONLY, &error, &at, NULL);
    }
    if (code == NULL) {
        return false;
    }
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    const bool has_match = pcre2_match(code, (PCRE2_SPTR)text, strlen(text), 0, 0, data, NULL) >= 0;
    pcre2_match_data_free(data);
    if (mine != NULL && (kept == NULL || kept_put(kept, mine) != mine)) {
        pcre2_code_free(mine);
    }
    return has_match;
}
