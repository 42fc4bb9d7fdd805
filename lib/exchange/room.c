/* Room for early gradients, see room.h. */
#include "exchange/room.h"

size_t room_buffers(size_t max_bytes, size_t slice_bytes)
{
    const size_t bytes = slice_bytes > 0 ? slice_bytes : 1;
    return max_bytes > bytes ? max_bytes / bytes : 1;
}

bool room_is_free(size_t n_buffers, size_t n_reserved, uint32_t trainer, bool is_wanted_next)
{
    return trainer == 0 || n_reserved + (is_wanted_next ? 0 : 1) < n_buffers;
}
