/* See terminal_size.h. Edge file: asks the terminal. */
#include "ctl/cli/terminal_size.h"

#include <stdlib.h>
#include <sys/ioctl.h>

#include "base/parse.h"

unsigned terminal_columns(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    const char *columns = getenv("COLUMNS");
    int64_t n;
    return columns != NULL && parse_i64_in(columns, 20, 1000, &n) == 0 ? (unsigned)n : 80;
}
