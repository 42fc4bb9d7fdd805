/* See figures_version.h. The only file that includes the header of the digest,
 * which each build makes. */
#include "result/figures_version.h"

#include "result/figures_source.h"

const char *figures_version(void)
{
    return BENCHD_FIGURES_SOURCE;
}
