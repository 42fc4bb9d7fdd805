/* The terminal that a stream is, or may be. */
#pragma once

/* Columns of the terminal at `fd`: its width, $COLUMNS, or 80. */
unsigned terminal_columns(int fd);
