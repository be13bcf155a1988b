/* Systems (A + B W) x = b of friction problems, in impulses and in velocities: both solve what is
 * drawn, with contacts that are given and normals that are bound by others. */

#include "unit.h"

#include "contacts.h"
#include "solve/fc.h"

enum { NC = 12, GROUPS = 5, MOST = 4 };

/* W = Y Y' + E, with every contact in units of its own. */
typedef struct system_of {
    double block[9 * NC * MOST], own[9 * NC], share[NC], W[9 * NC * NC];
    int start[NC + 1], group[NC * MOST], bound[NC];
    perp__fc_factors factors;
} system_of;

typedef struct problem {
    perp__fc fc;
    int start[NC + 1], col[NC * NC], order[NC], place[NC];
    double scaled[9 * NC * NC], jacobian[9 * NC * NC], scale[NC], force[NC], q[3 * NC], products;
} problem;

static void draw_factors(rng *g, system_of *s)
{
    int n = 0;
    memset(s, 0, sizeof *s);
    for (int i = 0; i < NC; i++) {
        s->start[i] = n;
        s->bound[i] = i >= NC - 2 ? i - 4 : -1; /* the last two are bound by others */
        if (s->bound[i] >= 0) s->share[i] = uniform(g, 0.1, 1);
        for (int k = 0, at = (int)uniform(g, 0, GROUPS); k < 1 + i % MOST; k++, at++) {
            s->group[n] = at % GROUPS;
            for (int e = 0; e < 9; e++) s->block[9 * n + e] = uniform(g, -1, 1);
            for (int e = 0; e < 3 && s->bound[i] >= 0; e++) s->block[9 * n + e] = 0;
            n++;
        }
        for (int d = 0; d < 3 && (s->bound[i] >= 0 || i % 5 == 0); d++)
            s->own[9 * i + 4 * d] = uniform(g, 0.5, 1);
    }
    s->start[NC] = n;
    s->factors =
        (perp__fc_factors){GROUPS, s->start, s->group, s->block, s->own, s->bound, s->share};
}

/* In W the blocks of all pairs, i by i. */
static void multiply_out(system_of *s)
{
    for (int i = 0; i < NC; i++)
        for (int j = 0; j < NC; j++) {
            double *w = s->W + 9 * (NC * i + j);
            for (int k = s->start[i]; k < s->start[i + 1]; k++)
                for (int l = s->start[j]; l < s->start[j + 1]; l++)
                    for (int e = 0; e < 27 && s->group[k] == s->group[l]; e++)
                        w[e / 3] += s->block[9 * k + e / 9 * 3 + e % 3] *
                                    s->block[9 * l + e / 3 % 3 * 3 + e % 3];
            for (int e = 0; e < 9 && i == j; e++) w[e] += s->own[9 * i + e];
            if (s->bound[i] == j) w[0] -= s->share[i];
        }
}

/* As the driver hands it to the methods: contacts in another order, scaled. */
static void load(rng *g, const system_of *s, problem *p)
{
    memset(p, 0, sizeof *p);
    for (int i = 0; i < NC; i++) {
        p->order[i] = (5 * i + 3) % NC;
        p->place[p->order[i]] = i;
        p->scale[i] = uniform(g, 0.5, 2);
        p->force[i] = ldexp(p->scale[i], i % 3);
        for (int d = 0; d < 3; d++) p->q[3 * i + d] = uniform(g, -1, 1);
    }
    for (int i = 0; i < NC; i++)
        for (int j = 0; j < NC; j++) {
            p->col[NC * i + j] = j;
            for (int e = 0; e < 9; e++)
                p->scaled[9 * (NC * i + j) + e] =
                    p->scale[i] * s->W[9 * (NC * p->order[i] + p->order[j]) + e] * p->force[j];
        }
    for (int i = 0; i <= NC; i++) p->start[i] = NC * i;
    p->fc = (perp__fc){.nc = NC,
                       .n = 3 * NC,
                       .start = p->start,
                       .col = p->col,
                       .block = p->scaled,
                       .jacobian = p->jacobian,
                       .scale = p->scale,
                       .force = p->force,
                       .order = p->order,
                       .place = p->place,
                       .q = p->q,
                       .products = &p->products,
                       .lu = perp__block_lu_create(NC),
                       .system = perp__fc_system_create()};
    assert_non_null(p->fc.lu);
    assert_non_null(p->fc.system);
}

static void clear(problem *p)
{
    perp__block_lu_destroy(p->fc.lu);
    perp__fc_system_destroy(p->fc.system);
}

/* The largest |(A + B W) x - b| of an active contact, beside its |terms|. */
static double off(const problem *p, const int *active, const double *A, const double *B,
                  const double *x, const double *b)
{
    double worst = 0;
    for (int i = 0; i < NC; i++) {
        double u[3] = {0}, sizes[3] = {0};
        for (int j = 0; j < NC; j++)
            for (int e = 0; e < 9; e++) {
                double term = p->scaled[9 * (NC * i + j) + e] * x[3 * j + e % 3];
                u[e / 3] += term;
                sizes[e / 3] += fabs(term);
            }
        for (int d = 0; d < 3 && active[i]; d++) {
            double sum = -b[3 * i + d], terms = fabs(sum);
            for (int e = 0; e < 3; e++) {
                const double a = A[9 * i + 3 * d + e], f = B[9 * i + 3 * d + e];
                sum += a * x[3 * i + e] + f * u[e];
                terms += fabs(a * x[3 * i + e]) + fabs(f) * sizes[e];
            }
            worst = fmax(worst, fabs(sum) / terms);
        }
    }
    return worst;
}

/* Of a contact that sticks A is `small` of B; of one that slides A has a row of its own. */
static void draw_sides(rng *g, double small, double *A, double *B)
{
    for (int i = 0; i < NC; i++) {
        double slide = i % 3 == 1 ? uniform(g, 0.1, 1) : 0;
        for (int e = 0; e < 9; e++) {
            B[9 * i + e] = e % 4 == 0 ? 1 : 0;
            A[9 * i + e] = small * B[9 * i + e];
        }
        if (slide == 0) continue;
        A[9 * i + 3] = -slide;
        A[9 * i + 4] = A[9 * i + 8] = 1;
        B[9 * i + 3] = slide;
        B[9 * i + 4] = B[9 * i + 8] = 0;
    }
}

/* W has rank 15 of 36, so small A costs the digits of b/small, and no more. Pivots are searched
 * within a block alone: the unsymmetric matrix of contacts that slide costs more now and then, and
 * Newton's method takes another shift then. */
static const double LOST = 1e-14;
enum { PROBLEMS = 300, MORE = 3 };

static void both_ways_solve(void **state)
{
    (void)state;
    int lost[2] = {0};
    for (int k = 0; k < PROBLEMS; k++) {
        rng g = {(uint64_t)k + 1};
        static system_of s;
        static problem p;
        int active[NC];
        double A[9 * NC], B[9 * NC], x[3 * NC], b[3 * NC], small = pow(10, -uniform(&g, 0, 9));
        draw_factors(&g, &s);
        multiply_out(&s);
        load(&g, &s, &p);
        draw_sides(&g, small, A, B);
        for (int i = 0; i < NC; i++) active[i] = k % 2 || uniform(&g, 0, 1) < 0.7;
        for (int i = 0; i < 3 * NC; i++) b[i] = uniform(&g, -1, 1);
        for (int way = 0; way < 2; way++) {
            assert_true(perp__fc_system_begin(&p.fc, way ? &s.factors : NULL));
            assert_int_equal(perp__fc_in_velocities(&p.fc), way);
            assert_true(perp__fc_system_order(&p.fc, active));
            perp__fc_system_factor(&p.fc, A, B, 1e-14);
            memcpy(x, b, sizeof x);
            perp__fc_system_solve(&p.fc, x);
            double error = off(&p, active, A, B, x, b), near = LOST / small;
            lost[way] += !(error < near);
            for (int i = 0; i < 3 * NC; i++) assert_true(active[i / 3] || x[i] == b[i]);
        }
        clear(&p);
    }
    assert_int_equal(lost[0], 0);
    assert_in_range(lost[1], 0, MORE);
}

/* u = W x + q by factors is that by blocks. */
static void products_are_equal(void **state)
{
    (void)state;
    for (int k = 0; k < 50; k++) {
        rng g = {(uint64_t)k + 1};
        static system_of s;
        static problem p;
        double x[3 * NC], u[2][3 * NC];
        draw_factors(&g, &s);
        multiply_out(&s);
        load(&g, &s, &p);
        for (int i = 0; i < 3 * NC; i++) x[i] = uniform(&g, -1, 1);
        for (int way = 0; way < 2; way++) {
            assert_true(perp__fc_system_begin(&p.fc, way ? &s.factors : NULL));
            perp__fc_velocity(&p.fc, x, u[way]);
        }
        for (int i = 0; i < 3 * NC; i++)
            if (!(fabs(u[0][i] - u[1][i]) < 1e-12))
                fail_msg("problem %d: %g for %g", k, u[1][i], u[0][i]);
        clear(&p);
    }
}

/* Contacts that move nothing have no blocks. */
static void contacts_may_move_nothing(void **state)
{
    (void)state;
    rng g = {1};
    static system_of s;
    static problem p;
    double A[9 * NC] = {0}, x[3 * NC], b[3 * NC];
    memset(&s, 0, sizeof s);
    for (int i = 0; i < NC; i++) s.bound[i] = -1;
    s.factors = (perp__fc_factors){GROUPS, s.start, s.group, s.block, s.own, s.bound, s.share};
    load(&g, &s, &p);
    assert_true(perp__fc_system_begin(&p.fc, &s.factors));
    assert_true(perp__fc_system_order(&p.fc, NULL));
    for (int i = 0; i < 3 * NC; i++) {
        A[9 * (i / 3) + 4 * (i % 3)] = 2;
        x[i] = b[i] = i;
    }
    perp__fc_system_factor(&p.fc, A, NULL, 1e-14);
    perp__fc_system_solve(&p.fc, x);
    for (int i = 0; i < 3 * NC; i++) assert_true(x[i] == b[i] / 2);
    clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_solve),
        cmocka_unit_test(products_are_equal),
        cmocka_unit_test(contacts_may_move_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
