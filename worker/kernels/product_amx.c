/* product_grid_tiles by tile registers (AMX), which multiply bf16 sixteen times as fast as vectors
 * multiply fp32.
 *
 * An fp32 is exactly the sum of three bf16, because its 24 bits are three times 8 bits. So
 *     x y = x1 y1 + x1 y2 + x2 y1 + x2 y2 + x1 y3 + x3 y1  up to an error of 2^-21 |x y|,
 * on average 2^-24, the rounding error of one fp32 operation. The six products are exact, their
 * sums are fp32 (TDPBF16PS). The instruction treats parts and products below 2^-126 as 0, so terms
 * below 2^-102 lose bits; Inf becomes NaN. After Henry, Tang, Heinecke 2019, arXiv:1904.06376.
 *
 * Operands stay fp32 in memory. Vectors convert them to what the tiles need, in the first-level
 * cache, while the tiles multiply what was converted before. The tiles process one unit at a time:
 * 32 steps of 32 rows or columns, in three parts of two tiles. A tile has 16 lines of 64 bytes:
 *     left:  line = row, in it 32 steps;
 *     right: line = a pair of steps, in it 16 columns, of each the two steps. */
#include <stdbool.h>
#include <string.h>

#include "worker/kernels/ceil_div.h"
#include "worker/kernels/product.h"
#include "worker/kernels/simd.h"

#define LINE 16 /* floats */
#define LINE_BYTES 64
#define TILE (16 * LINE)
#define PART (2 * TILE)
#define UNIT (3 * PART)
#define UNIT_ROWS 32
#define MAKE_PARTS 8   /* the next units are made in so many parts */
#define LEFT_UNITS 16  /* at most, of a block */
#define RIGHT_UNITS 16 /* at most, of a plane */
#define KEPT_UNITS 4   /* left units are kept for at most so many right units */

/* ---- units ---- */

/* The bits of x that fit bf16. The rest of x is exact in fp32, and the rest of that in bf16. */
SIMD_INLINE vi upper(vf x)
{
    return (vi)x & (int)0xffff0000u;
}

SIMD_INLINE void split(vf x, vi part[3])
{
    part[0] = upper(x);
    vf rest = x - (vf)part[0];
    part[1] = upper(rest);
    part[2] = (vi)(rest - (vf)part[1]);
}

/* Line `row` of a left unit from PANEL floats. */
SIMD_INLINE void left_line(const float *from, float *unit, size_t row, __m512i upper_words)
{
    vi a[3], b[3];
    split(vload(from), a);
    split(vload(from + VL), b);
#pragma GCC unroll 3
    for (size_t i = 0; i < 3; i++) {
        vstore(unit + i * PART + row * LINE,
               (vf)_mm512_permutex2var_epi16((__m512i)a[i], upper_words, (__m512i)b[i]));
    }
}

/* Lines of both tiles of a right unit from two rows of PANEL floats: steps 2 * pair and the next
 * one. */
SIMD_INLINE void right_lines(const float *from, float *unit, size_t pair, __m512i both_words)
{
#pragma GCC unroll 2
    for (size_t half = 0; half < 2; half++) {
        vi a[3], b[3];
        split(vload(from + half * VL), a);
        split(vload(from + PANEL + half * VL), b);
#pragma GCC unroll 3
        for (size_t i = 0; i < 3; i++) {
            vstore(unit + i * PART + half * TILE + pair * LINE,
                   (vf)_mm512_permutex2var_epi16((__m512i)a[i], both_words, (__m512i)b[i]));
        }
    }
}

/* ---- tiles ---- */

struct tile_config { /* the memory layout of LDTILECFG */
    uint8_t palette, start_row, unused[14];
    uint16_t line_bytes[16];
    uint8_t lines[16];
};

static void configure(void)
{
    struct tile_config config;
    memset(&config, 0, sizeof(config));
    config.palette = 1;
    for (size_t i = 0; i < 8; i++) {
        config.line_bytes[i] = LINE_BYTES;
        config.lines[i] = 16;
    }
    __asm__ volatile("" : : "r"(&config) : "memory");
    _tile_loadconfig(&config);
}

/* The compiler does not know that tile instructions read and write memory. */
#define MEMORY_IS_WRITTEN() __asm__ volatile("" : : : "memory")

/* Registers 0 to 3: c; 4, 5: left; 6, 7: right. Their numbers must be literals. */
#define LOAD_LEFT(AT, P)                                                                           \
    _tile_loadd(4, (AT) + (P)*PART, LINE_BYTES);                                                   \
    _tile_loadd(5, (AT) + (P)*PART + TILE, LINE_BYTES)
#define LOAD_RIGHT(AT, P)                                                                          \
    _tile_loadd(6, (AT) + (P)*PART, LINE_BYTES);                                                   \
    _tile_loadd(7, (AT) + (P)*PART + TILE, LINE_BYTES)

/* Permutations that take the upper words of all lanes of two vectors: all of the first vector and
 * then those of the second, or alternately. */
struct words {
    __m512i in_turn, paired;
};

static struct words words_of_lanes(void)
{
    short in_turn[2 * VL], paired[2 * VL];
    for (short i = 0; i < 2 * VL; i++) {
        in_turn[i] = (short)(2 * i + 1);
        paired[i] = (short)(i / 2 * 2 + 1 + i % 2 * 2 * VL);
    }
    return (struct words){_mm512_loadu_si512(in_turn), _mm512_loadu_si512(paired)};
}

/* What is made while a unit is multiplied: the parts of the next unit that do not exist yet. */
struct making {
    const float *left; /* UNIT_ROWS rows of PANEL floats; NULL: nothing */
    float *left_unit;
    const float *right; /* the same for the right unit */
    float *right_unit;
    const float *far; /* prefetched into the second-level cache */
    size_t far_lines;
    struct words words;
};

/* Makes one of MAKE_PARTS parts. */
SIMD_INLINE void make(const struct making *m, bool has_left, bool has_right, size_t part)
{
    if (has_left) {
#pragma GCC unroll 4
        for (size_t i = 0; i < UNIT_ROWS / MAKE_PARTS; i++) {
            size_t row = part * (UNIT_ROWS / MAKE_PARTS) + i;
            left_line(m->left + row * PANEL, m->left_unit, row, m->words.in_turn);
        }
    }
    if (has_right) {
#pragma GCC unroll 2
        for (size_t i = 0; i < UNIT_ROWS / 2 / MAKE_PARTS; i++) {
            size_t pair = part * (UNIT_ROWS / 2 / MAKE_PARTS) + i;
            right_lines(m->right + 2 * pair * PANEL, m->right_unit, pair, m->words.paired);
        }
    }
}

#define MULTIPLY()                                                                                 \
    _tile_dpbf16ps(0, 4, 6);                                                                       \
    _tile_dpbf16ps(1, 4, 7);                                                                       \
    _tile_dpbf16ps(2, 5, 6);                                                                       \
    _tile_dpbf16ps(3, 5, 7)

SIMD_INLINE void add_unit_making(const float *left, const float *right, const struct making *made,
                                 bool has_left, bool has_right)
{
    struct making m = *made;
    MEMORY_IS_WRITTEN();
    LOAD_LEFT(left, 0);
    LOAD_RIGHT(right, 2);
    MULTIPLY();
    make(&m, has_left, has_right, 0);
    for (size_t i = 0; i < m.far_lines; i++) {
        __builtin_prefetch(m.far + i * LINE, 0, 2);
    }
    LOAD_RIGHT(right, 1);
    MULTIPLY();
    make(&m, has_left, has_right, 1);
    make(&m, has_left, has_right, 2);
    LOAD_LEFT(left, 1);
    MULTIPLY();
    make(&m, has_left, has_right, 3);
    LOAD_RIGHT(right, 0);
    MULTIPLY();
    make(&m, has_left, has_right, 4);
    make(&m, has_left, has_right, 5);
    LOAD_LEFT(left, 2);
    MULTIPLY();
    make(&m, has_left, has_right, 6);
    LOAD_LEFT(left, 0);
    MULTIPLY();
    make(&m, has_left, has_right, 7);
}

static void add_unit(const float *left, const float *right, const struct making *m)
{
    if (m->left != NULL && m->right != NULL) {
        add_unit_making(left, right, m, true, true);
    } else if (m->left != NULL) {
        add_unit_making(left, right, m, true, false);
    } else if (m->right != NULL) {
        add_unit_making(left, right, m, false, true);
    } else {
        add_unit_making(left, right, m, false, false);
    }
}

/* ---- blocks of c ---- */

/* A copy of a block with fewer than UNIT_ROWS rows. */
struct copy {
    float rows[UNIT_ROWS * PANEL];
};

static size_t rows_of(size_t rows, size_t block)
{
    size_t left = rows - block * UNIT_ROWS;
    return left < UNIT_ROWS ? left : UNIT_ROWS;
}

static void load_c(const float *from, size_t row_floats)
{
    size_t row = row_floats * sizeof(float);
    _tile_loadd(0, from, row);
    _tile_loadd(1, from + LINE, row);
    _tile_loadd(2, from + 16 * row_floats, row);
    _tile_loadd(3, from + 16 * row_floats + LINE, row);
}

static void store_c(float *to, size_t row_floats)
{
    size_t row = row_floats * sizeof(float);
    _tile_stored(0, to, row);
    _tile_stored(1, to + LINE, row);
    _tile_stored(2, to + 16 * row_floats, row);
    _tile_stored(3, to + 16 * row_floats + LINE, row);
    MEMORY_IS_WRITTEN();
}

static void begin_block(const float *init, size_t init_row, size_t rows)
{
    if (init == NULL) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else if (rows == UNIT_ROWS) {
        load_c(init, init_row);
    } else {
        struct copy copy = {0};
        for (size_t i = 0; i < rows; i++) {
            memcpy(copy.rows + i * PANEL, init + i * init_row, PANEL * sizeof(float));
        }
        MEMORY_IS_WRITTEN();
        load_c(copy.rows, PANEL);
    }
}

static void end_block(float *c, size_t c_row, size_t rows)
{
    if (rows == UNIT_ROWS) {
        store_c(c, c_row);
        return;
    }
    struct copy copy;
    store_c(copy.rows, PANEL);
    for (size_t i = 0; i < rows; i++) {
        memcpy(c + i * c_row, copy.rows + i * PANEL, PANEL * sizeof(float));
    }
}

/* ---- all blocks ---- */

/* The place of a unit, in the order of the loops: panels change fastest, then columns, blocks of
 * rows, planes. */
struct place {
    size_t plane, block, column, panel;
};

static struct place place_after(struct place at, size_t panels, size_t columns, size_t blocks)
{
    if (++at.panel == panels) {
        at.panel = 0;
        at.column++;
    }
    if (at.column == columns) {
        at.column = 0;
        at.block++;
    }
    if (at.block == blocks) {
        at.block = 0;
        at.plane++;
    }
    return at;
}

/* Rows of the left operand, or a copy of them that is padded with zeros. */
static const float *left_rows(const struct product_grid *g, size_t rows, struct place at,
                              struct copy *copy)
{
    const float *a = g->first.a + at.plane * g->a_plane + at.panel * g->first.a_panel +
                     at.block * UNIT_ROWS * PANEL;
    size_t count = rows_of(rows, at.block);
    if (count == UNIT_ROWS) {
        return a;
    }
    memset(copy, 0, sizeof(*copy));
    memcpy(copy->rows, a, count * PANEL * sizeof(float));
    return copy->rows;
}

/* Left units are made for the first column and kept for the others, right units for the first
 * block. Each is made while the unit before it is multiplied, so there is room for the left units
 * of the next block and for one more right unit. Units that are used one after the other lie an odd
 * number of units apart, so never a multiple of 4 KB: with the two halves of `left` LEFT_UNITS
 * apart conv1_2 took 22.8 ms instead of 18.9, presumably because loads and stores agreed in their
 * low address bits. */
struct units {
    float left[2 * LEFT_UNITS][UNIT];
    float right[RIGHT_UNITS + 2][UNIT];
} __attribute__((aligned(LINE_BYTES)));

/* Slots in which units are made one after the other; those from `first` on are used again. */
struct ring {
    size_t slots, first, now;
};

static void ring_turn(struct ring *r, bool again, bool begins)
{
    size_t next = r->now + 1 == r->slots ? 0 : r->now + 1;
    r->now = again ? r->first : next;
    r->first = begins ? r->now : r->first;
}

/* At most LEFT_UNITS panels and, with more than one block, at most RIGHT_UNITS in all columns. */
static void multiply(const struct product_grid *g, size_t rows)
{
    const struct product *p = &g->first;
    size_t blocks = ceil_div(rows, UNIT_ROWS), n_right = g->columns * p->panels;
    struct ring left = {.slots = g->columns == 1 ? 2 : 2 * p->panels};
    struct ring right = {.slots = blocks == 1 ? 2 : (n_right + 2) / 2 * 2};
    struct units units;
    struct copy copy;
    struct place at = {0}, next;
    struct making m = {.left = left_rows(g, rows, at, &copy),
                       .left_unit = units.left[0],
                       .right = p->b,
                       .right_unit = units.right[0],
                       .words = words_of_lanes()};
    for (size_t i = 0; i < MAKE_PARTS; i++) {
        make(&m, true, true, i);
    }
    if (p->next != NULL) {
        m.far_lines = ceil_div(p->next_floats / LINE, blocks * n_right);
    }
    for (; at.plane < g->planes; at = next) {
        const float *left_now = units.left[left.now], *right_now = units.right[right.now];
        size_t c = at.plane * g->c_plane + at.column * g->c_column;
        size_t row = at.block * UNIT_ROWS, count = rows_of(rows, at.block);
        if (at.panel == 0) {
            const float *init = p->init == NULL ? NULL : p->init + c + row * p->init_row;
            begin_block(init, p->init_row, count);
        }
        if (at.panel + at.column + at.block == 0) {
            m.far = p->next == NULL ? p->a : p->next + at.plane * g->next_plane;
        }
        next = place_after(at, p->panels, g->columns, blocks);
        bool same_plane = next.plane == at.plane, same_block = same_plane && next.block == at.block;
        ring_turn(&left, same_block && next.column != at.column, !same_block);
        ring_turn(&right, same_plane && !same_block, !same_plane);
        bool is_end = next.plane == g->planes;
        m.left = is_end || next.column != 0 ? NULL : left_rows(g, rows, next, &copy);
        m.left_unit = units.left[left.now];
        m.right = is_end || next.block != 0
                      ? NULL
                      : p->b + next.plane * g->b_plane + next.column * g->b_column +
                            next.panel * PANEL * PANEL;
        m.right_unit = units.right[right.now];
        add_unit(left_now, right_now, &m);
        m.far += m.far_lines * LINE;
        if (next.panel == 0) {
            end_block(p->c + c + row * p->c_row, p->c_row, count);
        }
    }
}

/* A range of planes, columns or panels. */
struct range {
    size_t first, count;
};

static void multiply_part(const struct product_grid *g, size_t rows, struct range planes,
                          struct range columns, struct range panels)
{
    struct product_grid part = *g;
    struct product *p = &part.first;
    size_t c = planes.first * g->c_plane + columns.first * g->c_column;
    part.planes = planes.count;
    part.columns = columns.count;
    p->panels = panels.count;
    p->a += planes.first * g->a_plane + panels.first * p->a_panel;
    p->b += planes.first * g->b_plane + columns.first * g->b_column + panels.first * PANEL * PANEL;
    p->c += c;
    if (panels.first != 0) {
        p->init = p->c;
        p->init_row = p->c_row;
    } else if (p->init != NULL) {
        p->init += c;
    }
    p->next = p->next == NULL || columns.first != 0 ? NULL : p->next + planes.first * g->next_plane;
    multiply(&part, rows);
}

/* If left units would leave the first-level cache before the next column, it is cheaper to make
 * them again. */
static void multiply_planes(const struct product_grid *g, size_t rows, struct range all)
{
    struct range planes = all, columns = {0, g->columns}, panels = {0, 0};
    bool keeps = rows <= UNIT_ROWS || g->first.panels * g->columns <= KEPT_UNITS;
    planes.count = keeps ? all.count : 1;
    columns.count = keeps ? g->columns : 1;
    for (; planes.first < all.first + all.count; planes.first += planes.count) {
        for (columns.first = 0; columns.first < g->columns; columns.first += columns.count) {
            for (panels.first = 0; panels.first < g->first.panels; panels.first += LEFT_UNITS) {
                size_t left = g->first.panels - panels.first;
                panels.count = left < LEFT_UNITS ? left : LEFT_UNITS;
                multiply_part(g, rows, planes, columns, panels);
            }
        }
    }
}

void product_grid_tiles(const struct product_grid *g, size_t rows)
{
    configure();
    multiply_planes(g, rows, (struct range){g->begin, g->planes - g->begin});
    if (g->begin != 0) {
        multiply_planes(g, rows, (struct range){0, g->begin});
    }
    _tile_release();
}
