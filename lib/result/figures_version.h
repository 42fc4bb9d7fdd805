/* Which code makes figures of rows. Stored figures are read by the very code that made them: where
 * a line of it is another one, or its compiler, they are made anew from the rows. */
#pragma once

/* A digest, in hex; "" if it is unknown: then nothing may be stored. Static. */
const char *figures_version(void);
