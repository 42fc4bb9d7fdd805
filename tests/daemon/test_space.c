/* A disk that is full, as the daemon notices it. */
#include <errno.h>

#include "tests/test.h"
#include "daemon/retention.h"

static struct store_space found;
static unsigned n_tries;
static int answer;

static void get_space(struct store *s, struct store_space *ret)
{
    (void)s;
    *ret = found;
}

static int try_space(struct store *s, struct err *err)
{
    (void)s, (void)err;
    n_tries++;
    return answer;
}

/* A write that happened to succeed is not enough: try_space says when there is room. */
TEST(a_full_disk_is_tried_now_and_then)
{
    static const struct {
        int64_t at_s;
        bool is_full; /* what the store says */
        int answer;
        enum space_news news;
        unsigned n_tries;
        bool is_full_after;
    } rows[] = {
        {0, false, 0, SPACE_NO_NEWS, 0, false},  {1, true, 0, SPACE_IS_FULL, 0, true},
        {2, true, 0, SPACE_NO_NEWS, 0, true},    {6, true, -ENOSPC, SPACE_NO_NEWS, 1, true},
        {7, false, 0, SPACE_NO_NEWS, 1, true},   {11, false, 0, SPACE_IS_BACK, 2, false},
        {12, false, 0, SPACE_NO_NEWS, 2, false},
    };
    static const struct store_ops ops = {.get_space = get_space, .try_space = try_space};
    struct store store = {&ops};
    struct space space = {0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        found.is_full = rows[i].is_full;
        answer = rows[i].answer;
        const enum space_news news = space_look(&space, &store, rows[i].at_s * 1000000000);
        if (news != rows[i].news || n_tries != rows[i].n_tries ||
            space.is_full != rows[i].is_full_after) {
            fail_msg("row %zu: news %d, %u tries, full %d", i, news, n_tries, space.is_full);
        }
    }
}
