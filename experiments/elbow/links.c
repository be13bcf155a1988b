/* Whole tosses of the two links, with impacts: friction by predictions of 10 rows, and rollouts. See links.h. */

#include "links.h"
#include "../../tests/support/outcomes.h"

#include <math.h>
#include <stdio.h>

enum { ANGLE = 7 };

static const char *const columns[] = {"p[1]", "p[2]", "p[3]", "q[1]", "q[2]", "q[3]", "q[4]", "th",
                                      "v[1]", "v[2]", "v[3]", "w[1]", "w[2]", "w[3]", "dth"};
static const toss_body links = {15, ANGLE, columns, 0.1};

/* The hinge's angle, recorded within (-pi, pi], without jumps. */
static void unwrap_angle(const toss *t)
{
    for (int i = 1; i < t->rows; i++) {
        double *now = t->row + i * links.columns + ANGLE, before = now[-links.columns];
        *now = before + remainder(*now - before, 2 * acos(-1.0));
    }
}

/* n tosses spread evenly over the recordings; with `other`, those half-way between them. Cut to `rows`. */
static perp_dataset *choose(const tosses *all, int n, int other, int rows, perp_diag *diag)
{
    perp_dataset *data;
    if (perp_dataset_create(&data) != PERP_OK) return NULL;
    for (int i = 0; i < n; i++) {
        char name[32];
        int k = (2 * i + !other) * all->n / (2 * n);
        toss t = all->toss[k];
        if (rows < t.rows) t.rows = rows;
        snprintf(name, sizeof name, "toss %d", k);
        if (toss_add(&links, data, &t, name, diag) == PERP_OK) continue;
        perp_dataset_destroy(data);
        return NULL;
    }
    return data;
}

/* mu from the data, or without iterations the cost at `start`. */
static int estimate(perp_model *model, const perp_dataset *data, double start, int iterations,
                    perp_identification *a, perp_diag *diag)
{
    perp_identify_options o;
    if (perp_model_set(model, "mu", start, diag) != PERP_OK ||
        perp_identify_options_default(model, &o, diag) != PERP_OK)
        return 0;
    o.huber = 1; /* tracking errors */
    o.starts = iterations ? 3 : 1;
    o.max_iter = iterations;
    o.tol = 1e-3;
    o.threads = 2;
    return run_identify(model, data, &o, a, diag) == PERP_OK;
}

static double cost(perp_model *model, const perp_dataset *data, double mu, perp_diag *diag)
{
    perp_identification a = {.size = sizeof a};
    if (!estimate(model, data, mu, 0, &a, diag)) return (double)NAN;
    double value = a.start[0].cost;
    perp_identification_clear(&a);
    return value;
}

/* Open loop from the first row, on every so many tosses. */
static int roll_out(perp_model *model, const tosses *all, double mu, int every, perp_diag *diag)
{
    toss_error sum = {0, 0, 0}, e;
    int n = 0;
    if (perp_model_set(model, "mu", mu, diag) != PERP_OK) return 0;
    for (int k = 5; k < all->n; k += every, n++) {
        if (toss_simulate(&links, model, &all->toss[k], &e, diag) != PERP_OK) return 0;
        sum.position += e.position, sum.rotation += e.rotation, sum.hinge += e.hinge;
    }
    printf("  whole rollouts of %d tosses, mu = %.3f: link 1 off by %.0f %% of its length and %.0f "
           "degrees, hinge %.0f degrees\n",
           n, mu, sum.position / n, sum.rotation / n, sum.hinge / n);
    return 1;
}

int links_study(perp_model *model, const tosses *all, double published, int quick, perp_diag *diag)
{
    int n = quick ? 6 : 16, rows = quick ? 51 : 121, better = 0;
    perp_identification a = {.size = sizeof a};
    for (int k = 0; k < all->n; k++) unwrap_angle(&all->toss[k]);
    perp_dataset *train = choose(all, n, 0, rows, diag), *test = choose(all, n, 1, rows, diag);
    int ok = train && test && estimate(model, train, published, 10, &a, diag);
    if (ok) {
        double mu = a.parameter[0].value, ours = cost(model, test, mu, diag),
               theirs = cost(model, test, published, diag);
        printf("  predictions of 10 rows of %d whole tosses: mu = %.4f in %.1f s\n", n, mu,
               a.seconds);
        printf("  cost on %d other tosses: %.0f with %.3f, %.0f with the published %.1f\n", n, ours,
               mu, theirs, published);
        better = ours <= theirs;
        perp_identification_clear(&a);
        ok = roll_out(model, all, mu, quick ? 80 : 40, diag);
        if (ok && !quick) ok = roll_out(model, all, published, 40, diag);
    }
    perp_dataset_destroy(train);
    perp_dataset_destroy(test);
    return ok ? better : -1;
}
