/* See process_use.h. */
#include "daemon/web/process_use.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/whole_file.h"

#define STATM_MAX 256 /* seven numbers */

static double bytes_of(const char *pages)
{
    double n = NAN;
    return pages == NULL || parse_f64(pages, &n) < 0 ? NAN : n * (double)sysconf(_SC_PAGESIZE);
}

struct process_use process_use_read(void)
{
    _cleanup_(buf_done) struct buf statm = BUF_INIT;
    _cleanup_(texts_done) struct texts fds = {0};
    struct rlimit files;
    (void)file_read("/proc/self/statm", STATM_MAX, &statm, NULL); /* then it is empty */
    char *rest = statm.data;
    const char *size = strsep(&rest, " "), *resident = strsep(&rest, " ");
    file_names("/proc/self/fd", &fds); /* with ".", "..", and the folder's own descriptor */
    return (struct process_use){
        .cpu_s = (double)clock_process_cpu_ns() / 1e9,
        .virtual_bytes = bytes_of(size),
        .resident_bytes = bytes_of(resident),
        .open_fds = fds.list.len < 3 ? NAN : (double)fds.list.len - 3,
        .max_fds = getrlimit(RLIMIT_NOFILE, &files) < 0 ? NAN : (double)files.rlim_cur,
    };
}
