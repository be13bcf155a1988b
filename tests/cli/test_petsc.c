/* Piles over processes, and SNES VI: what is there without PETSc, and with it and mpirun what several ranks find, and what is left where one dies. */

#include "cli.h"
#include "spheres.h"
#include "unit.h"

#include "perp/perp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char pile[512], column[512];

/* A pile with diagonal masses as a file. */
static void write_pile(const perp_pile *p, char *path, size_t room, const char *name)
{
    int D = p->dimension, K = p->dof, nv = K * p->nbody, n = D * p->nc, at = 0;
    size_t k = (size_t)K;
    int *place = malloc(((size_t)nv + 1) * sizeof *place),
        *start = malloc(((size_t)n + 1) * sizeof *start),
        *row = malloc((size_t)n * 2 * k * sizeof *row);
    double *mass = malloc((size_t)nv * sizeof *mass), *f = malloc((size_t)nv * sizeof *f),
           *value = malloc((size_t)n * 2 * k * sizeof *value);
    for (int i = 0; i <= nv; i++) place[i] = i;
    for (int i = 0; i < nv; i++) {
        mass[i] = 1 / p->inverse_mass[(size_t)(i / K) * k * k + (size_t)(i % K) * (k + 1)];
        f[i] = mass[i] * p->velocity[i];
    }
    for (int j = 0; j < n; j++) {
        start[j] = at;
        for (int side = 0; side < 2; side++)
            for (int c = 0; c < K && p->body[2 * (j / D) + side] >= 0; c++) {
                row[at] = K * p->body[2 * (j / D) + side] + c;
                value[at++] = p->jacobian[((2 * (j / D) + side) * D + j % D) * K + c];
            }
    }
    start[n] = at;
    const perp_fclib_problem problem = {.dimension = D,
                                        .nc = p->nc,
                                        .mu = p->mu,
                                        .M = {nv, nv, place, place, mass},
                                        .H = {nv, n, start, row, value},
                                        .f = f,
                                        .w = p->bias};
    snprintf(path, room, "%s", cli_path(name));
    assert_int_equal(perp_fclib_write(path, &problem, NULL, NULL), PERP_OK);
    free(place), free(start), free(row), free(mass), free(f), free(value);
}

/* Point masses on top of each other: a sweep carries weight by two of them, so that a run does not end while one waits for it. */
static void write_column(int n)
{
    enum { D = 3, K = 3 };
    double *inverse = calloc((size_t)n * K * K, sizeof *inverse),
           *velocity = calloc((size_t)n * K, sizeof *velocity),
           *jacobian = calloc((size_t)n * 2 * D * K, sizeof *jacobian),
           *mu = calloc((size_t)n, sizeof *mu), *bias = calloc((size_t)n * D, sizeof *bias);
    int *body = calloc(2 * (size_t)n, sizeof *body);
    for (int i = 0; i < n; i++) {
        body[2 * i] = i, body[2 * i + 1] = i - 1;
        velocity[K * i + 2] = -0.01, mu[i] = 0.5;
        for (int c = 0; c < K; c++) {
            inverse[(i * K + c) * K + c] = 1;
            for (int side = 0; side < 2; side++)
                jacobian[((2 * i + side) * D + c) * K + (c + 2) % 3] = side ? -1 : 1;
        }
    }
    const perp_pile p = {.dimension = D,
                         .dof = K,
                         .nbody = n,
                         .inverse_mass = inverse,
                         .velocity = velocity,
                         .nc = n,
                         .body = body,
                         .jacobian = jacobian,
                         .bias = bias,
                         .mu = mu};
    write_pile(&p, column, sizeof column, "column.h5");
    free(inverse), free(velocity), free(jacobian), free(mu), free(bias), free(body);
}

static int write_problems(void **state)
{
    spheres one, s;
    (void)state;
    assert_true(spheres_settle(60, 4, 500, 1, 7, &one) && spheres_repeat(&one, 2, 2, 3, &s));
    write_pile(&s.pile, pile, sizeof pile, "pile.h5");
    write_column(8000);
    spheres_free(&one), spheres_free(&s);
    return 0;
}

static int has_petsc(void)
{
    return access(PERP_BUILD_DIR "/libperp-petsc.so", R_OK) == 0;
}

/* In an instrumented command MPI says rank 0 to each process (not understood), so the tests of ranks are for other builds. */
static int has_mpirun(void)
{
#ifdef __SANITIZE_ADDRESS__
    return 0;
#endif
    return has_petsc() && system("command -v mpirun > /dev/null") == 0;
}

/* Impulses that a run wrote; the caller destroys the file. */
static perp_fclib *read_answer(const char *name, const double **r, int *n)
{
    perp_fclib *file;
    assert_int_equal(perp_fclib_read(cli_path(name), &file, NULL), PERP_OK);
    const perp_fclib_problem *p = perp_fclib_problem_of(file);
    *r = perp_fclib_impulses(file), *n = p->nc * p->dimension;
    assert_non_null(*r);
    return file;
}

/* The largest difference of two answers' velocities of bodies, beside the largest of them. */
static double difference(const char *one, const char *other)
{
    const char *const name[] = {one, other};
    perp_fclib *file[2];
    double *v[2], most = 0, size = 0;
    for (int k = 0; k < 2; k++) {
        const double *r;
        int n;
        file[k] = read_answer(name[k], &r, &n);
        const perp_fclib_problem *p = perp_fclib_problem_of(file[k]);
        v[k] = calloc((size_t)p->M.columns, sizeof *v[k]);
        for (int i = 0; i < p->M.columns; i++) v[k][i] = p->f[i];
        for (int j = 0; j < n; j++)
            for (int e = p->H.start[j]; e < p->H.start[j + 1]; e++)
                v[k][p->H.row[e]] += p->H.value[e] * r[j];
        for (int i = 0; i < p->M.columns; i++) v[k][i] /= p->M.value[i];
    }
    for (int i = 0; i < perp_fclib_problem_of(file[0])->M.columns; i++) {
        most = fmax(most, fabs(v[0][i] - v[1][i]));
        size = fmax(size, fabs(v[0][i]));
    }
    for (int k = 0; k < 2; k++) free(v[k]), perp_fclib_destroy(file[k]);
    return most / size;
}

static void without_the_plugin_its_package_is_named(void **state)
{
    (void)state; /* a command with nothing beside it */
    char copy[512];
    snprintf(copy, sizeof copy, "%s", cli_path("perp-alone"));
    cli_result r = cli_run("--version > /dev/null; cp '%s' '%s' && '%s' solve '%s' --method petsc",
                           PERP_CLI, copy, copy, pile);
    assert_int_equal(r.code, 1);
    assert_non_null(strstr(r.err, "petsc-dev"));
    cli_free(&r);
    r = cli_run("--version > /dev/null; '%s' solve '%s' --method petsc-rsls", copy,
                cli_file("lcp.json", "{\"M\": [[1]], \"q\": [-1]}"));
    assert_int_equal(r.code, 1);
    assert_non_null(strstr(r.err, "petsc-dev"));
    cli_free(&r);
    r = cli_run("--version > /dev/null; PMI_SIZE=2 '%s' solve '%s' --method petsc", copy, pile);
    assert_int_equal(r.code, 2);
    cli_free(&r);
    remove(copy);
}

static void one_rank_sweeps_as_the_pile_does(void **state)
{
    (void)state;
    const double *a, *b;
    int n, m;
    if (!has_petsc()) skip();
    cli_expect(0, " pile ", NULL, "solve '%s' --method pile -o '%s'", pile, cli_path("pile0.h5"));
    cli_expect(0, " petsc ", NULL, "solve '%s' --method petsc -o '%s'", pile, cli_path("pile1.h5"));
    perp_fclib *one = read_answer("pile0.h5", &a, &n), *two = read_answer("pile1.h5", &b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
    perp_fclib_destroy(one), perp_fclib_destroy(two);
}

#define MPIRUN                                                                                     \
    "--version > /dev/null; OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 60 " \
    "mpirun --oversubscribe "

static void two_ranks_find_what_one_finds(void **state)
{
    (void)state;
    if (!has_mpirun()) skip();
    cli_expect(0, "solved       petsc", NULL, MPIRUN "-n 2 '%s' solve '%s' --method petsc -o '%s'",
               PERP_CLI, pile, cli_path("pile2.h5"));
    double d = difference("pile1.h5", "pile2.h5");
    if (!(d > 0 && d < 1e-5)) fail_msg("velocities differ by %g", d);
    cli_expect(2, NULL, "one of 2 processes", "--version > /dev/null; PMI_SIZE=2 '%s' solve '%s'",
               PERP_CLI, pile);
}

/* Rank 1 is killed once rank 0 has saved what was found. */
static void a_rank_that_dies_leaves_what_was_saved(void **state)
{
    (void)state;
    char out[512];
    const double *r;
    int n;
    double largest = 0;
    if (!has_mpirun()) skip();
    snprintf(out, sizeof out, "%s", cli_path("dead.h5"));
    cli_result run = cli_run(
        MPIRUN "-n 1 '%s' solve '%s' --method petsc -o '%s' : "
               "-n 1 sh -c '(while test ! -e \"$2.partial\"; do sleep 0.1; done; kill -9 $$) & "
               "exec \"$0\" solve \"$1\" --method petsc -o \"$2\"' '%s' '%s' '%s'",
        PERP_CLI, column, out, PERP_CLI, column, out);
    if (run.code == 0 || !strstr(run.err, ".partial") || !strstr(run.err, "signal 9"))
        fail_msg("%d\n%s", run.code, run.err);
    cli_free(&run);
    assert_int_not_equal(access(out, F_OK), 0);
    strcat(out, ".partial");
    perp_fclib *file;
    char named[600];
    snprintf(named, sizeof named, "%s.h5", out);
    rename(out, named);
    assert_int_equal(perp_fclib_read(named, &file, NULL), PERP_OK);
    r = perp_fclib_impulses(file), n = 3 * perp_fclib_problem_of(file)->nc;
    assert_non_null(r);
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(r[i]));
    assert_true(largest > 0);
    perp_fclib_destroy(file);
}

/* Four problems in one file: PETSc takes longer to begin than they do. */
static void snes_vi_solves_and_is_judged(void **state)
{
    (void)state;
    if (!has_petsc()) skip();
    static const char *const method[] = {"petsc-rsls", "petsc-ssls"},
                             *const z[] = {"z = 0.5 0 2\n", "z = 1.833333333 -2.666666667 0.5\n",
                                           "z = 2 0\n", " limit "};
    const char *file = cli_file(
        "four.json",
        "[{\"M\": [[2,1,0],[1,2,1],[0,1,2]], \"q\": [-1,3,-4]},"
        "{\"kind\": \"mlcp\", \"M\": [[2,1,0],[1,2,1],[0,1,2]], \"q\": [-1,3,-4], \"free\": [1],"
        "\"upper\": [null,null,0.5]},"
        "{\"kind\": \"ncp\", \"F\": [\"x1^2 - 4 + x2\", \"1 + x1*x2\"], \"start\": [1, 1]},"
        "{\"M\": [[0,0],[0,0]], \"q\": [-1,-1]}]");
    for (int k = 0; k < 2; k++) {
        cli_result r = cli_run("solve '%s' --method %s", file, method[k]);
        if (r.code != 3) fail_msg("%s: exit code %d\n%s%s", method[k], r.code, r.out, r.err);
        for (int i = 0; i < 4; i++)
            if (!strstr(r.out, z[i])) fail_msg("%s: no '%s' in\n%s", method[k], z[i], r.out);
        cli_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_plugin_its_package_is_named),
        cmocka_unit_test(one_rank_sweeps_as_the_pile_does),
        cmocka_unit_test(two_ranks_find_what_one_finds),
        cmocka_unit_test(a_rank_that_dies_leaves_what_was_saved),
        cmocka_unit_test(snes_vi_solves_and_is_judged),
    };
    if (!has_mpirun())
        print_message(
            "without PETSc or mpirun, or with sanitizers, the tests of ranks are skipped\n");
    return cmocka_run_group_tests(tests, write_problems, NULL);
}
