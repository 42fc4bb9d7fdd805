/* See program_file.h. */
#include "core/program_file.h"

#include <string.h>

#include "base/mem.h"

#define NAME_MAX_BYTES 1024

void program_file_done(struct program_file *file)
{
    free(file->name);
    buf_done(&file->content);
    *file = (struct program_file){0};
}

bool program_file_may_travel(const char *name)
{
    bool is_fine = strlen(name) <= NAME_MAX_BYTES;
    for (const char *part = name; is_fine && part != NULL; part = strchr(part, '/')) {
        part += part != name;
        const size_t len = strcspn(part, "/");
        is_fine = len > 0 && (part[0] != '.' || (len == 1 && part[1] == '/'));
    }
    for (const char *c = name; is_fine && *c != '\0'; c++) {
        is_fine = *c >= ' ' && *c <= '~' && *c != '\\';
    }
    return is_fine;
}
