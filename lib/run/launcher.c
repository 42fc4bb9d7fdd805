/* What launchers share, see launcher.h. */
#include "run/launcher.h"

enum failure_class launcher_classify_errno(int code)
{
    switch (code) {
    case EAGAIN:
    case ENOMEM:
    case EADDRINUSE:
    case EADDRNOTAVAIL:
        return FAILURE_INFRASTRUCTURE;
    default:
        return FAILURE_PERMANENT;
    }
}
