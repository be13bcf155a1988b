/* Running models, small linear problems. */

#include "support.h"
#include "../../tests/support/outcomes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

perp_model *load_model(const char *path)
{
    perp_diag diag = {0};
    perp_model *model;
    if (perp_model_load(path, &model, &diag) != PERP_OK) die("%s", perp_diag_text(&diag));
    return model;
}

perp_model *parse_model(const char *text)
{
    perp_diag diag = {0};
    perp_model *model;
    if (perp_model_parse(text, strlen(text), "experiment.perp", &model, &diag) != PERP_OK)
        die("%s", perp_diag_text(&diag));
    return model;
}

void set_value(perp_model *model, const char *name, double value)
{
    perp_diag diag = {0};
    if (perp_model_set(model, name, value, &diag) != PERP_OK) die("%s", perp_diag_text(&diag));
}

static perp_status keep_row(void *context, long step, const double *row)
{
    run *r = context;
    (void)step;
    memcpy(r->value + r->nrow++ * r->ncolumn, row, (size_t)r->ncolumn * sizeof *row);
    return PERP_OK;
}

run run_model(perp_model *model, double to, double step)
{
    perp_diag diag = {0};
    run r = {.model = model};
    perp_simulation_options o = perp_simulation_options_default(model);
    if (to > 0) o.to = to;
    if (step > 0) o.step = step;
    if (perp_simulation_create(model, &o, &r.sim, &diag) != PERP_OK)
        die("%s", perp_diag_text(&diag));
    r.ncolumn = perp_simulation_columns(r.sim);
    long rows = perp_simulation_steps(r.sim) + 1;
    /* the rows, and room for one copy of each column */
    r.value = allocate(2 * (size_t)rows * (size_t)r.ncolumn * sizeof *r.value);
    double start = now_s();
    if (simulation_run(r.sim, keep_row, &r, &diag) != PERP_OK) die("%s", perp_diag_text(&diag));
    r.seconds = now_s() - start;
    r.summary = simulation_summary(r.sim);
    return r;
}

void free_run(run *r)
{
    perp_simulation_destroy(r->sim);
    perp_model_destroy(r->model);
    free(r->value);
}

static int find_column(const run *r, const char *name)
{
    for (int c = 0; c < r->ncolumn; c++) {
        if (strcmp(perp_simulation_column_name(r->sim, c), name) == 0) return c;
    }
    die("no column '%s'", name);
}

double *column(const run *r, const char *name)
{
    int c = find_column(r, name);
    double *copy = r->value + (r->ncolumn + c) * r->nrow;
    for (long k = 0; k < r->nrow; k++) copy[k] = r->value[k * r->ncolumn + c];
    return copy;
}

double at(const run *r, long row, const char *name)
{
    return r->value[row * r->ncolumn + find_column(r, name)];
}

double last(const run *r, const char *name)
{
    return at(r, r->nrow - 1, name);
}

small_lcp make_lcp(int n, const double *rows, const double *q)
{
    small_lcp p = {.n = n};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) p.M[i + j * n] = rows[i * n + j];
        p.q[i] = q[i];
    }
    return p;
}

perp_lcp view(const small_lcp *p)
{
    return (perp_lcp){.n = p->n, .M = p->M, .ldm = p->n, .q = p->q};
}

perp_lcp_solver *solver_of(perp_lcp_method method)
{
    static perp_lcp_solver *kept[PERP_LCP_METHOD_COUNT];
    if (!kept[method] && perp_lcp_solver_create(method, SMALL, NULL, &kept[method]) != PERP_OK)
        die("this build has no method %s", perp_lcp_method_name(method));
    return kept[method];
}

perp_outcome solve_by(perp_lcp_method method, const small_lcp *p, double *z, double *w)
{
    perp_lcp_info info = {.size = sizeof info};
    perp_lcp lcp = view(p);
    if (perp_lcp_solve(solver_of(method), &lcp, z, w, &info) != PERP_OK)
        die("a problem is too large");
    return info.outcome;
}

static int is_known(const double (*z)[SMALL], int count, const double *x, int n)
{
    for (int k = 0; k < count; k++) {
        double far = 0;
        for (int i = 0; i < n; i++) far = fmax(far, fabs(z[k][i] - x[i]));
        if (far < 1e-9) return 1;
    }
    return 0;
}

static int keep_solution(void *context, const double *z, const double *w, int is_ray)
{
    solutions *s = context;
    double(*list)[SMALL] = is_ray ? s->ray : s->z;
    int *count = is_ray ? &s->rays : &s->count;
    (void)w;
    if (is_known((const double(*)[SMALL])list, *count, z, s->n)) return 0;
    if (*count == MOST_SOLUTIONS) die("more solutions than expected");
    memcpy(list[(*count)++], z, (size_t)s->n * sizeof *z);
    return 0;
}

solutions all_solutions(const small_lcp *p, const unsigned char *is_free)
{
    solutions s = {.n = p->n};
    perp_lcp lcp = view(p);
    if (perp_lcp_enumerate(&lcp, is_free, keep_solution, &s) != PERP_OK)
        die("a problem is too large");
    return s;
}
