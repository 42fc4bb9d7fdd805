/* See build_info.h. The only file that includes the header of the source,
 * which each build makes. */
#include "base/build_info.h"

#include "base/build_source.h"
#include "config.h"

const char *build_source(void)
{
    return BENCHD_BUILD_SOURCE;
}

const char *build_compiler(void)
{
    return BENCHD_BUILD_COMPILER;
}

const char *build_options(void)
{
    return BENCHD_BUILD_OPTIONS;
}

const char *build_text(void)
{
    return "source    " BENCHD_BUILD_SOURCE "\ncompiler  " BENCHD_BUILD_COMPILER
           "\noptions   " BENCHD_BUILD_OPTIONS "\n";
}
