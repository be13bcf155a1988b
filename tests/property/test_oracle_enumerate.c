/* perp_lcp_enumerate against all solutions in exact arithmetic: every vertex and ray is found, nothing else is.
 * 1e4 problems; PERP_LONG=1: 1e6. PERP_SEED chooses others. */

#include "draw_lcp.h"
#include "exact.h"
#include "tally.h"

#include "perp/lcp.h"

/* Faults of the present code (class, fault, 1 where only the long run is sure to find it): each line goes with its cure. */
static const uncured faults[] = {
    /* numbers that are 1e-200 of what the data of other rows make of theirs are taken as 0 */
    {"huge", "MISSING", 0},
};

enum {
    FREE = DRAW_boxes,
    CLASSES,
    MOST = 4096
}; /* the classes without bounds, and one with free unknowns */

static const double TOL = 1e-10 * 1.001, DATA = 1e-6, SAME = 1e-6;

/* What perp_lcp_enumerate reported. */
typedef struct reported {
    int n, count, overflow;
    double z[MOST][DRAW_MAX];
    unsigned char is_ray[MOST];
    const unsigned char *is_free;
} reported;

static int keep(void *context, const double *z, const double *w, int is_ray)
{
    reported *r = context;
    (void)w;
    if (r->count == MOST) {
        r->overflow = 1;
        return 1;
    }
    memcpy(r->z[r->count], z, (size_t)r->n * sizeof *z);
    r->is_ray[r->count++] = is_ray != 0;
    return 0;
}

/* Every entry right relative to itself; a free one, which may be 0 by cancellation, relative to the largest. */
static int is_same(const double *x, const double *y, int n, const unsigned char *is_free)
{
    double largest = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(y[i]));
    for (int i = 0; i < n; i++) {
        if (!(fabs(x[i] - y[i]) <= SAME * (is_free[i] ? largest : fabs(y[i])))) return 0;
    }
    return 1;
}

static int is_reported(const reported *r, const double *point, int is_ray)
{
    for (int k = 0; k < r->count; k++) {
        if (r->is_ray[k] == is_ray && is_same(r->z[k], point, r->n, r->is_free)) return 1;
    }
    return 0;
}

static int is_listed(double (*list)[EXACT_MAX], int count, const double *z, int n,
                     const unsigned char *is_free)
{
    for (int k = 0; k < count; k++) {
        if (is_same(z, list[k], n, is_free)) return 1;
    }
    return 0;
}

/* Is what was reported no solution, or no direction of solutions? */
static int is_wrong(const perp_lcp *lcp, const double *z, int is_ray)
{
    static const double zero[DRAW_MAX];
    perp_lcp homogeneous = *lcp;
    homogeneous.q = zero;
    exact_error e = exact_lcp_error(is_ray ? &homogeneous : lcp, z);
    return !(e.own <= TOL) ||
           (!is_ray && !(e.data <= DATA) && !exact_is_near_solution(lcp, z, 1e-8));
}

static void draw(int class, unsigned long index, drawn_lcp *p, unsigned char *is_free)
{
    memset(is_free, 0, DRAW_MAX);
    if (class != FREE) {
        draw_lcp((draw_class) class, seed_of_run(), index, p);
        return;
    }
    draws d = draws_of(seed_of_run(), FREE, index);
    draw_lcp((draw_class)draw_int(&d, DRAW_integer, DRAW_infeasible), seed_of_run(),
             index + (1ul << 32), p);
    for (int i = 0; i < p->lcp.n; i++) is_free[i] = draw_int(&d, 0, 2) == 0;
}

static void check(tally *t, int class, unsigned long index)
{
    static drawn_lcp p;
    static exact_set truth;
    static reported r;
    unsigned char is_free[DRAW_MAX];
    char text[DRAW_JSON];
    draw(class, index, &p, is_free);
    const perp_lcp *lcp = &p.lcp;
    exact_solutions(lcp, is_free, &truth);
    r.n = lcp->n, r.count = r.overflow = 0, r.is_free = is_free;
    assert_int_equal(perp_lcp_enumerate(lcp, is_free, keep, &r), PERP_OK);
    assert_false(r.overflow);
    t->outcome[class][0][truth.npoint ? PERP_SOLVED : PERP_INFEASIBLE]++;
    if (truth.too_large) {
        t->outcome[class][0][PERP_LIMIT]++;
        return;
    }
    int missing = 0, extra = 0;
    for (int k = 0; k < truth.npoint; k++) {
        if (is_reported(&r, truth.point[k], 0)) continue;
        if (p.wide_margin || (exact_is_decidable(lcp, truth.point[k]) &&
                              exact_is_stable(lcp, is_free, truth.point[k])))
            missing++;
        else
            t->missed[class][0]++;
    }
    for (int k = 0; k < truth.nray && class != FREE; k++) {
        if (is_reported(&r, truth.ray[k], 1)) continue;
        if (p.wide_margin)
            missing++;
        else
            t->missed[class][0]++;
    }
    for (int k = 0; k < r.count; k++) {
        if (r.is_ray[k] ? class == FREE || is_listed(truth.ray, truth.nray, r.z[k], r.n, is_free)
                        : is_listed(truth.point, truth.npoint, r.z[k], r.n, is_free))
            continue;
        if (p.wide_margin || is_wrong(lcp, r.z[k], r.is_ray[k]))
            extra++;
        else
            t->near[class][0]++;
    }
    if (missing) add_fault(t, class, 0, FAULT_MISSING, index, 0, draw_json(lcp, text));
    if (extra) add_fault(t, class, 0, FAULT_EXTRA, index, 0, draw_json(lcp, text));
}

static void all_solutions_are_found_and_nothing_else(void **state)
{
    (void)state;
    static tally t = {.what = "perp_lcp_enumerate",
                      .classes = CLASSES,
                      .methods = 1,
                      .method_name = {"enumerate"}};
    long each = problems(10000) / CLASSES;
    for (int c = 0; c < CLASSES; c++)
        t.class_name[c] = c == FREE ? "free" : draw_class_name((draw_class)c);
    printf("seed %llu, %ld problems of each class\n", (unsigned long long)seed_of_run(), each);
    for (int c = 0; c < CLASSES; c++) {
        for (long k = 0; k < each; k++) check(&t, c, (unsigned long)k);
    }
    check_tally(&t, faults, sizeof faults / sizeof *faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_solutions_are_found_and_nothing_else),
    };
    return run_all(tests);
}
