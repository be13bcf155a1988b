/* perp export casadi: the functions compile without a warning, hold for the rows of perp simulate, and their derivatives are those of differences. Called
 * as CasADi calls them; tests/oracle/casadi_runs.py lets CasADi do it. */

#include "cli.h"
#include "unit.h"

#include "perp/perp.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 2048, MOST = 1000 };
enum { T, H, BEFORE, X, DER, Z, U, P, INPUTS };

typedef long long integer;
typedef int function(const double **arg, double **res, integer *iw, double *w, int mem);
typedef const integer *sparsity(integer i);
typedef integer count(void);
typedef const char *name_of(integer i);

/* A function of the library and what it says of itself. */
typedef struct external {
    function *run;
    sparsity *in, *out;
    integer nin, nout, nw;
} external;

static void *library;

static void *find(const char *format, const char *a, const char *b, const char *c)
{
    char name[200];
    snprintf(name, sizeof name, format, a, b, c);
    void *found = dlsym(library, name);
    if (!found) fail_msg("%s is not there", name);
    return found;
}

static external get(const char *order, const char *name)
{
    external e;
    int (*work)(integer *, integer *, integer *, integer *);
    integer narg, nres;
    *(void **)&e.run = find("%s%s%s", order, name, "");
    *(void **)&e.in = find("%s%s_%s", order, name, "sparsity_in");
    *(void **)&e.out = find("%s%s_%s", order, name, "sparsity_out");
    *(void **)&work = find("%s%s_%s", order, name, "work");
    count *n;
    *(void **)&n = find("%s%s_%s", order, name, "n_in");
    e.nin = n();
    *(void **)&n = find("%s%s_%s", order, name, "n_out");
    e.nout = n();
    assert_int_equal(work(&narg, &nres, NULL, &e.nw), 0);
    assert_true(narg >= e.nin && nres >= e.nout);
    return e;
}

/* Columns rise, rows rise in each: [rows, columns, starts.., rows..]; dense ones have a 1 in the place of the first start. How many entries. */
static integer entries(const integer *s)
{
    assert_non_null(s);
    if (s[2] == 1) return s[0] * s[1];
    const integer *start = s + 2, *row = start + s[1] + 1;
    assert_int_equal(start[0], 0);
    for (integer c = 0; c < s[1]; c++) {
        assert_true(start[c] <= start[c + 1]);
        for (integer k = start[c]; k < start[c + 1]; k++) {
            assert_true(row[k] >= 0 && row[k] < s[0]);
            assert_true(k == start[c] || row[k] > row[k - 1]);
        }
    }
    return start[s[1]];
}

/* All results of a function, one after the other in `value`; returns where each begins. */
static const integer *call(const external *e, const double *const *arg, double *value)
{
    static integer begin[MOST];
    const double *in[MOST] = {0};
    double *out[MOST], *w = malloc(((size_t)e->nw + 1) * sizeof *w);
    integer n = 0;
    assert_true(e->nin < MOST && e->nout < MOST);
    for (integer i = 0; i < e->nin && i < INPUTS; i++) in[i] = arg[i];
    for (integer i = 0; i < e->nout; i++) {
        begin[i] = n, out[i] = value + n;
        n += entries(e->out(i));
        assert_true(n < 100 * MOST);
    }
    begin[e->nout] = n;
    assert_int_equal(e->run(in, out, NULL, w, 0), 0);
    free(w);
    return begin;
}

/* d result/d input by differences beside the derivative's function. */
static double compare(const external *f, const external *jac, double *const *arg)
{
    static double at[100 * MOST], more[100 * MOST], less[100 * MOST], exact[100 * MOST];
    double worst = 0;
    const double *const *in = (const double *const *)arg;
    call(f, in, at);
    integer begin[MOST];
    memcpy(begin, call(jac, in, exact), ((size_t)jac->nout + 1) * sizeof *begin);
    for (integer i = 0; i < f->nin && i < INPUTS; i++) {
        integer n = f->in(i)[0];
        for (integer j = 0; j < n; j++) {
            double was = arg[i][j], d = 1e-6 * fmax(1, fabs(was));
            arg[i][j] = was + d;
            call(f, in, more);
            arg[i][j] = was - d;
            const integer *place = call(f, in, less);
            arg[i][j] = was;
            for (integer o = 0; o < f->nout; o++) {
                const integer *out = f->out(o), *s = jac->out(o * f->nin + i), *row = s + 3 + s[1];
                int is_dense = out[2] == 1;
                assert_int_equal(s[0], out[0] * out[1]);
                assert_int_equal(s[1], n);
                for (integer c = 0, k = 0; c < out[1]; c++)
                    for (integer r = 0; is_dense ? r < out[0] : k < out[2 + c + 1]; r++) {
                        integer at_row = is_dense ? r : out[3 + out[1] + k];
                        double slope = (more[place[o] + k] - less[place[o] + k]) / (2 * d), own = 0;
                        for (integer q = s[2 + j]; q < s[3 + j]; q++)
                            if (row[q] == at_row + out[0] * c)
                                own = exact[begin[o * f->nin + i] + q];
                        if (isfinite(more[place[o] + k]))
                            worst = fmax(worst, fabs(own - slope) / (1 + fabs(slope)));
                        k++;
                    }
            }
        }
    }
    return worst;
}

static void load(const char *model)
{
    char path[PATH], so[PATH], log[PATH], command[4 * PATH];
    snprintf(path, sizeof path, "%s", cli_path("external.c"));
    snprintf(log, sizeof log, "%s", cli_path("log"));
    snprintf(so, sizeof so, "%s/external_%d.so", cli_folder(), rand());
    cli_expect(0, NULL, NULL, "export casadi '%s' -o '%s' --quiet", model, path);
    snprintf(command, sizeof command,
             "cc -std=c99 -O1 -Wall -Wextra -pedantic -Werror -ffp-contract=off -shared -fPIC '%s' "
             "-lm -o '%s' >'%s' 2>&1",
             path, so, log);
    if (system(command) != 0) fail_msg("%s", cli_read(log));
    library = dlopen(so, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
}

/* Columns of these symbols in a row of the table. */
static void take(const perp_trajectory *table, const perp_model *model, perp_symbol_kind kind,
                 long row, double *to)
{
    for (int i = 0; i < perp_model_count(model, kind); i++) {
        int c = perp_trajectory_find(table, perp_model_symbol(model, kind, i).name);
        to[i] = c < 0 ? 0 : perp_trajectory_column(table, c)[row];
    }
}

/* Greatest |residual| and natural residual of the pairs over the rows that perp simulate writes; derivatives at one of them. */
static void hold_for_rows(const char *model, const char *name, double tol)
{
    static double r[INPUTS][MOST], value[100 * MOST], start[MOST];
    double *arg[INPUTS], worst = 0, pairs = 0, outputs = 0;
    perp_model *m;
    perp_trajectory *table;
    char path[PATH];
    load(model);
    snprintf(path, sizeof path, "%s", cli_path("rows.csv"));
    cli_expect(0, NULL, NULL,
               "simulate '%s' --method backward-euler --estimate none -o '%s' --quiet", model,
               path);
    assert_int_equal(perp_trajectory_read(path, &table, NULL), PERP_OK);
    assert_int_equal(perp_model_load(model, &m, NULL), PERP_OK);
    for (int i = 0; i < INPUTS; i++) arg[i] = r[i];
    char own[5][100];
    static const char *const word[] = {"residual", "pairs", "outputs", "start", "parameters"};
    for (int k = 0; k < 5; k++) snprintf(own[k], sizeof own[k], "%s_%s", name, word[k]);
    external f[5], jac[5], jac_jac[5];
    for (int k = 0; k < 5; k++) f[k] = get("", own[k]);
    for (int k = 0; k < 4; k++) jac[k] = get("jac_", own[k]), jac_jac[k] = get("jac_jac_", own[k]);
    call(&f[4], NULL, r[P]);
    const double *parameters[INPUTS] = {r[P]};
    call(&f[3], parameters, start);
    int nx = perp_model_count(m, PERP_STATE);
    take(table, m, PERP_STATE, 0, r[X]);
    for (int i = 0; i < nx; i++) assert_true(start[i] == r[X][i]);
    long n = perp_trajectory_rows(table);
    const double *t = perp_trajectory_column(table, 0);
    for (long k = 1; k < n; k++) {
        *r[T] = t[k], *r[H] = t[k] - t[k - 1];
        take(table, m, PERP_STATE, k - 1, r[BEFORE]);
        take(table, m, PERP_STATE, k, r[X]);
        take(table, m, PERP_VAR, k, r[Z]);
        take(table, m, PERP_INPUT, k, r[U]);
        for (int i = 0; i < nx; i++) r[DER][i] = (r[X][i] - r[BEFORE][i]) / *r[H];
        const double *const *in = (const double *const *)arg;
        const integer *begin = call(&f[0], in, value);
        for (integer i = 0; i < begin[1]; i++) worst = fmax(worst, fabs(value[i]));
        begin = call(&f[1], in, value);
        for (integer i = 0; i < begin[1]; i++) {
            double a = value[i], b = value[begin[1] + i], lo = value[begin[2] + i],
                   hi = value[begin[3] + i], on = value[begin[4] + i];
            pairs = fmax(pairs, on != 0 ? fabs(a - fmin(hi, fmax(lo, a - b))) : fabs(a));
        }
        begin = call(&f[2], in, value);
        take(table, m, PERP_OUTPUT, k, start);
        for (integer i = 0; i < begin[1]; i++) outputs = fmax(outputs, fabs(value[i] - start[i]));
    }
    for (int i = 0; i < INPUTS; i++) /* away from kinks */
        for (int j = 0; j < 50; j++)
            r[i][j] += 1e-3 * (1 + fabs(r[i][j])) * (0.1 + (rand() % 1000) / 1000.0);
    double first = 0, second = 0;
    for (int k = 0; k < 3; k++) {
        first = fmax(first, compare(&f[k], &jac[k], arg));
        second = fmax(second, compare(&jac[k], &jac_jac[k], arg));
    }
    double *p[INPUTS] = {r[P]};
    first = fmax(first, compare(&f[3], &jac[3], p));
    printf("%s, %ld rows: residual %.1e, pairs %.1e, outputs %.1e; derivatives beside differences "
           "%.1e, second ones %.1e\n",
           name, n, worst, pairs, outputs, first, second);
    assert_true(worst < tol && pairs < tol && outputs < 1e-12);
    assert_true(first < 1e-7 && second < 1e-7);
    perp_trajectory_destroy(table);
    perp_model_destroy(m);
    dlclose(library);
}

static void conditions_hold_for_rows_of_a_run(void **state)
{
    (void)state;
    hold_for_rows("examples/notes/particle.perp", "particle", 1e-9);
    hold_for_rows("examples/notes/sliding_one_line.perp", "sliding_one_line", 1e-9);
    hold_for_rows("examples/mechanics/square.perp", "square", 1e-9);
    hold_for_rows("examples/circuits/diode_bridge.perp", "diode_bridge", 1e-9);
}

/* A pair with a guard and pre(), two-sided, with parameters that follow from others and one that is a size. */
static void guards_and_what_was_before_are_read(void **state)
{
    (void)state;
    cli_file("guard.perp", "model guard\nparam n = 2, k = 3, twice = 2*k\nstate x[n] = k \"m\", q "
                           "= 1\ninput u = 5\nvar f\n"
                           "der(x[1]) = -1\nder(x[2]) = u\n0 <= f perp x[1] >= 0 when x[1] < 0\n"
                           "-twice <= q <= k perp x[2] - pre(q)\noutput y = x[1] + twice\n");
    load(cli_path("guard.perp"));
    external pairs = get("", "guard_pairs"), parameters = get("", "guard_parameters"),
             start = get("", "guard_start");
    assert_int_equal(entries(parameters.out(0)), 1); /* k alone */
    double value[100], p[1], x0[3];
    call(&parameters, NULL, p);
    assert_true(p[0] == 3);
    p[0] = 4;
    const double *chosen[INPUTS] = {p};
    call(&start, chosen, x0);
    assert_true(x0[0] == 4 && x0[1] == 4 && x0[2] == 1);
    const double t = 0.1, h = 0.1, before[] = {-1, 2, 7}, x[] = {1, 3, 9}, der[] = {20, 10, 0},
                 z[] = {0.5}, u[] = {5};
    const double *arg[INPUTS] = {&t, &h, before, x, der, z, u, p};
    const integer *begin = call(&pairs, arg, value);
    const double *a = value, *b = value + begin[1], *lo = value + begin[2], *hi = value + begin[3],
                 *on = value + begin[4];
    assert_true(a[0] == 0.5 && b[0] == 1 && lo[0] == 0 && isinf(hi[0]) && on[0] != 0);
    assert_true(a[1] == 9 && b[1] == 3 - 7 && lo[1] == -8 && hi[1] == 4 && on[1] == 1);
    double other[] = {1, 2, 7};
    arg[BEFORE] = other;
    call(&pairs, arg, value);
    assert_true(value[begin[4]] == 0);
    arg[BEFORE] = NULL; /* CasADi's way to say 0 */
    call(&pairs, arg, value);
    assert_true(value[begin[1] + 1] == 3);
    dlclose(library);
}

static void what_is_asked_for_is_there_and_no_more(void **state)
{
    (void)state;
    char path[PATH];
    snprintf(path, sizeof path, "%s", cli_path("order.c"));
    cli_expect(0, "13 functions", NULL, "export casadi examples/notes/particle.perp -o '%s'", path);
    cli_expect(0, "5 functions", NULL,
               "export casadi examples/notes/particle.perp -o '%s' --order 0", path);
    char *text = cli_read(path);
    assert_null(strstr(text, "jac_"));
    free(text);
    cli_expect(1, NULL, "--order is for CasADi",
               "export c examples/notes/particle.perp -o '%s' --order 1", path);
    cli_expect(1, NULL, "a setting of a run is for FMUs",
               "export casadi examples/notes/particle.perp -o '%s' --step 0.1", path);
    cli_expect(1, NULL, "--order", "export casadi examples/notes/particle.perp -o '%s' --order 3",
               path);
    cli_expect(4, NULL, "/no/such/place",
               "export casadi examples/notes/particle.perp -o /no/such/place.c");
    cli_file("bad.perp", "model bad\nstate x = 0\nder(x) = y\n");
    cli_expect(2, NULL, "bad.perp:3:10", "export casadi '%s' -o '%s'", cli_path("bad.perp"), path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_hold_for_rows_of_a_run),
        cmocka_unit_test(guards_and_what_was_before_are_read),
        cmocka_unit_test(what_is_asked_for_is_there_and_no_more),
    };
    return test_result(cmocka_run_group_tests(tests, NULL, NULL));
}
