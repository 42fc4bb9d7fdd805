/* product_tiles by tile registers against sums in double: worker/kernels/product_amx.c. */
#include "tests/test.h"
#include "guard.h"
#include "worker/kernels/product.h"

#define MOST_ROWS 70

struct arrays {
    size_t rows, panels, na, nb, nc;
    float *a, *b, *c, *init;
};

static struct arrays arrays_new(size_t rows, size_t panels)
{
    struct arrays d = {.rows = rows,
                       .panels = panels,
                       .na = panels * rows * PANEL,
                       .nb = panels * PANEL * PANEL,
                       .nc = rows * PANEL};
    d.a = guarded_new(d.na, 1);
    d.b = guarded_new(d.nb, 2);
    d.c = guarded_new(d.nc, 3);
    d.init = guarded_new(d.nc, 4);
    return d;
}

static void arrays_free(struct arrays *d)
{
    guarded_free(d->a, d->na, "a");
    guarded_free(d->b, d->nb, "b");
    guarded_free(d->c, d->nc, "c");
    guarded_free(d->init, d->nc, "init");
}

static void product_tiles_of(const struct product *p, size_t rows)
{
    product_grid_tiles(&(struct product_grid){.first = *p, .planes = 1, .columns = 1}, rows);
}

static struct product product_of(const struct arrays *d)
{
    return (struct product){.a = d->a,
                            .a_panel = d->rows * PANEL,
                            .b = d->b,
                            .b_step = PANEL,
                            .c = d->c,
                            .c_row = PANEL,
                            .panels = d->panels,
                            .steps = PANEL};
}

/* Every element within `share` of the sum of its terms' absolute values. init_row: 0 for a bias. */
static void check(const struct arrays *d, const float *init, size_t init_row, double share)
{
    for (size_t i = 0; i < d->nc; i++) {
        size_t row = i / PANEL, column = i % PANEL;
        double want = init == NULL ? 0 : (double)init[row * init_row + column], most = fabs(want);
        for (size_t l = 0; l < d->panels * PANEL; l++) {
            size_t panel = l / PANEL, step = l % PANEL;
            double term = (double)d->a[(panel * d->rows + row) * PANEL + step] *
                          (double)d->b[l * PANEL + column];
            want += term;
            most += fabs(term);
        }
        if (fabs((double)d->c[i] - want) > share * most) {
            fail_msg("%zu rows, %zu panels: c[%zu][%zu] = %.9g, expected %.9g within %.3g of %.3g",
                     d->rows, d->panels, row, column, (double)d->c[i], want, share, most);
        }
    }
}

TEST(sums)
{
    static const size_t rows[] = {1, 16, 31, 32, 33, 64, MOST_ROWS}, panels[] = {1, 2, 16, 17, 33};
    for (size_t i = 0; i < N_ROWS(rows) * N_ROWS(panels); i++) {
        struct arrays d = arrays_new(rows[i % N_ROWS(rows)], panels[i / N_ROWS(rows)]);
        struct product p = product_of(&d);
        product_tiles_of(&p, d.rows);
        check(&d, NULL, 0, 1e-7);
        p.init = d.init;
        product_tiles_of(&p, d.rows);
        check(&d, d.init, 0, 1e-7);
        p.init_row = PANEL;
        p.next = d.a;
        p.next_floats = d.na;
        product_tiles_of(&p, d.rows);
        check(&d, d.init, PANEL, 1e-7);
        memcpy(d.c, d.init, d.nc * sizeof(float));
        p.init = d.c;
        product_tiles_of(&p, d.rows);
        check(&d, d.init, PANEL, 1e-7);
        arrays_free(&d);
    }
}

/* Whatever plane comes first, the bits are the same. */
TEST(planes_go_round)
{
    enum { PLANES = 5, PANELS = 2, ROWS = 40 };
    _cleanup_(arrays_free) struct arrays d = arrays_new(ROWS, PANELS * PLANES);
    struct product p = product_of(&d);
    size_t c_plane = ROWS * PANEL, nc = PLANES * c_plane;
    float *want = guarded_new(nc, 5), *c = guarded_new(nc, 6);
    for (size_t begin = 0; begin < PLANES; begin++) {
        memset(c, 0xff, nc * sizeof(float));
        p.c = begin == 0 ? want : c;
        p.panels = PANELS;
        product_grid_tiles(&(struct product_grid){.first = p,
                                                  .planes = PLANES,
                                                  .begin = begin,
                                                  .a_plane = PANELS * ROWS * PANEL,
                                                  .b_plane = PANELS * PANEL * PANEL,
                                                  .c_plane = c_plane,
                                                  .columns = 1},
                           ROWS);
        assert_true(begin == 0 || memcmp(c, want, nc * sizeof(float)) == 0);
    }
    guarded_free(want, nc, "want");
    guarded_free(c, nc, "c");
}

/* One term an element: nothing averages out what is dropped. */
TEST(one_term)
{
    static const float scales[] = {1, 1e-20f, 1e15f, 0x1p-90f, 0x1p100f};
    for (size_t i = 0; i < N_ROWS(scales); i++) {
        _cleanup_(arrays_free) struct arrays d = arrays_new(32, 1);
        for (size_t j = 0; j < d.na; j++) { /* row r takes step r only */
            d.a[j] = j / PANEL == j % PANEL ? d.a[j] * scales[i] : 0;
        }
        struct product p = product_of(&d);
        product_tiles_of(&p, d.rows);
        check(&d, NULL, 0, 0x1p-21);
    }
}

/* What is infinite or no number never becomes a number again. */
TEST(not_finite)
{
    static const float values[] = {INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < N_ROWS(values); i++) {
        _cleanup_(arrays_free) struct arrays d = arrays_new(40, 2);
        d.a[5 * PANEL + 7] = values[i];
        struct product p = product_of(&d);
        product_tiles_of(&p, d.rows);
        for (size_t j = 0; j < d.nc; j++) {
            assert_true(isfinite(d.c[j]) == (j / PANEL != 5));
        }
    }
}

int main(void)
{
    struct kernels k;
    if (kernels_init_isa(&k, "amx") < 0) {
        printf("1..0 # SKIP this CPU has no tile registers\n");
        return 0;
    }
    return test_run_all(NULL);
}
