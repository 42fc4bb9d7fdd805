/* What launchers share, see launch.h. */
#include "run/launch.h"

enum failure_class launch_classify_errno(int code)
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
