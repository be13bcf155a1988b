/* The start nearest to a given one that fulfils all conditions on states alone: first positions,
 * then velocities. Each is Newton's iteration to the conditions, then steps along them towards the
 * given start. Each step is a complementarity problem of the multipliers, which allows redundant
 * conditions. */

#include "base/tol.h"
#include "perp/lcp.h"
#include "simulate/starts.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* RESTORES: of Newton's iteration; NEARER: steps along the conditions; HALVINGS: of a step that
 * makes matters worse. */
enum { RESTORES = 60, NEARER = 60, HALVINGS = 30 };

/* Of the diagonal, added to it: redundant conditions are solved in a few more steps. */
#define SHIFT 1e-10

/* Nothing moves any more, of the sizes of the states. */
#define SAME 1e-10

typedef struct projection {
    perp__starts at;
    int nx, n, is_second;
    int *row;                             /* n: of the conditions in hand */
    double *size;                         /* nx: by what a state is measured; 0: it stays */
    double *given, *x, *trial;            /* nx */
    double *J, *factor, *M, *q, *lo, *hi; /* n x nx in sizes, factors of rows; the problem */
    double *z;
    perp_lcp_solver *solver;
    perp__arena arena;
} projection;

/* Positions, or velocities, with the conditions that are theirs: a condition that reads a velocity
 * is one of velocities. */
static void begin_part(projection *p, int is_second)
{
    const perp__starts *s = &p->at;
    p->is_second = is_second;
    p->n = 0;
    for (int r = 0; r < s->n; r++) {
        int is_side = !perp__starts_is_equation(s, r), moves = s->row[r].moves_rates;
        if (s->row[r].kind == PERP__START_WIDTH) continue;
        int is_of_second = s->row[r].kind == PERP__START_RATE || moves;
        if (is_of_second == is_second && !(is_side && moves)) p->row[p->n++] = r;
    }
    for (int i = 0; i < p->nx; i++) p->size[i] = s->is_velocity[i] == is_second ? s->size[i] : 0;
}

/* Steps ---------------------------------------------------------------------------------------- */

/* What all conditions in hand lack at these states, the largest, of their scales. */
static double lack(projection *p, const double *x)
{
    double most = 0;
    perp__starts_evaluate(&p->at, x);
    for (int k = 0; k < p->n; k++) {
        double scale = perp__starts_scale(&p->at, p->row[k]);
        double off = perp__starts_lack(&p->at, p->row[k]);
        if (off > 0) most = fmax(most, off / scale);
        if (!isfinite(scale)) most = (double)INFINITY;
    }
    return most;
}

/* The rows of the conditions in sizes of states, each to length 1; those that nothing moves have
 * none. */
static void fill_rows(projection *p)
{
    const perp__starts *s = &p->at;
    memset(p->J, 0, (size_t)p->n * (size_t)p->nx * sizeof(double));
    for (int k = 0; k < p->n; k++) {
        double *J = p->J + (size_t)k * (size_t)p->nx, sum = 0;
        for (int e = s->start[p->row[k]]; e < s->start[p->row[k] + 1]; e++) {
            int i = s->column[e];
            J[i] = s->ws[s->tape.out[s->first_slope + e]] * p->size[i];
            sum += J[i] * J[i];
        }
        p->factor[k] = sum > 0 && isfinite(sum) ? 1 / sqrt(sum) : 0;
        for (int i = 0; i < p->nx; i++) J[i] = p->factor[k] > 0 ? J[i] * p->factor[k] : 0;
    }
}

/* The shortest way, from states that are `from` beyond p->x, to the conditions linearised at p->x;
 * in p->trial. Returns 0: there is none. */
static int step(projection *p, const double *from)
{
    int n = p->n, nx = p->nx;
    fill_rows(p);
    for (int k = 0; k < n; k++) {
        const double *J = p->J + (size_t)k * (size_t)nx;
        double value = perp__starts_value(&p->at, p->row[k]);
        int is_free = perp__starts_is_equation(&p->at, p->row[k]), is_asked = !isnan(value);
        p->q[k] = is_asked ? value * p->factor[k] : 0;
        for (int i = 0; i < nx && is_asked; i++)
            if (p->size[i] > 0) p->q[k] += J[i] * from[i] / p->size[i];
        p->lo[k] = is_free ? -(double)INFINITY : 0;
        p->hi[k] = is_asked ? (double)INFINITY : p->lo[k];
        if (!is_asked) p->lo[k] = p->hi[k] = 0;
        for (int l = 0; l < n; l++) {
            const double *other = p->J + (size_t)l * (size_t)nx;
            double sum = k == l ? SHIFT : 0;
            for (int i = 0; i < nx; i++) sum += J[i] * other[i];
            p->M[(size_t)k + (size_t)l * (size_t)n] = k == l && p->factor[k] == 0 ? 1 : sum;
        }
    }
    perp_lcp lcp = {n, p->M, n ? n : 1, p->q, p->lo, p->hi};
    perp_lcp_info info = {.size = sizeof info};
    memset(p->z, 0, (size_t)n * sizeof(double));
    if (perp_lcp_solve(p->solver, &lcp, p->z, NULL, &info) != PERP_OK ||
        info.outcome != PERP_SOLVED)
        return 0;
    for (int i = 0; i < nx; i++) {
        double sum = from[i];
        for (int k = 0; k < n; k++)
            sum += p->J[(size_t)k * (size_t)nx + (size_t)i] * p->z[k] * p->size[i];
        p->trial[i] = p->x[i] + sum;
    }
    return 1;
}

/* To the conditions by the shortest steps, until rounding is all that is left. Returns 0: there is
 * no way. */
static int restore(projection *p, double *nothing)
{
    double off = lack(p, p->x);
    for (int k = 0; k < RESTORES && off > DBL_EPSILON / 4; k++) {
        if (!step(p, nothing)) return 0;
        double next = lack(p, p->trial);
        for (int i = 0; i < HALVINGS && !(next < off); i++) {
            for (int j = 0; j < p->nx; j++) p->trial[j] = (p->trial[j] + p->x[j]) / 2;
            next = lack(p, p->trial);
        }
        if (!(next < off)) break;
        memcpy(p->x, p->trial, (size_t)p->nx * sizeof(double));
        off = next;
    }
    lack(p, p->x);
    for (int k = 0; k < p->n; k++)
        if (perp__starts_is_broken(&p->at, p->row[k])) return 0;
    return isfinite(off);
}

/* Along the conditions to where the start that was given is nearest. Returns 0: it was not
 * reached. */
static int go_near(projection *p, double *nothing, double *from, double *last)
{
    for (int k = 0; k < NEARER; k++) {
        double moved = 0;
        memcpy(last, p->x, (size_t)p->nx * sizeof(double));
        for (int i = 0; i < p->nx; i++) from[i] = p->size[i] > 0 ? p->given[i] - p->x[i] : 0;
        lack(p, p->x);
        if (!step(p, from)) return 0;
        memcpy(p->x, p->trial, (size_t)p->nx * sizeof(double));
        if (!restore(p, nothing)) return 0;
        for (int i = 0; i < p->nx; i++)
            if (p->size[i] > 0) moved = fmax(moved, fabs(p->x[i] - last[i]) / p->size[i]);
        if (moved <= SAME) return 1;
    }
    return 0;
}

static int project_part(projection *p, double *scratch)
{
    double *nothing = scratch, *from = scratch + p->nx, *last = from + p->nx;
    memset(nothing, 0, (size_t)p->nx * sizeof(double));
    lack(p, p->x);
    for (int k = 0; k < p->n; k++)
        if (perp__starts_is_broken(&p->at, p->row[k]))
            return restore(p, nothing) && go_near(p, nothing, from, last);
    return 1;
}

/* The whole ------------------------------------------------------------------------------------ */

static perp_status allocate(projection *p, double **scratch)
{
    perp_lcp_options o = perp_lcp_options_default(PERP_LCP_AUTO);
    int n = p->at.n, nx = p->nx;
    o.mixed = 1;
    PERP_TAKE(&p->arena, p->row, n + 1);
    PERP_TAKE(&p->arena, p->size, nx + 1);
    PERP_TAKE(&p->arena, p->given, 3 * nx + 1);
    PERP_TAKE(&p->arena, p->factor, 5 * n + 1);
    PERP_TAKE(&p->arena, p->J, (size_t)n * (size_t)nx + 1);
    PERP_TAKE(&p->arena, p->M, (size_t)n * (size_t)n + 1);
    PERP_TAKE(&p->arena, *scratch, 3 * nx + 1);
    if (p->arena.failed) return PERP_ERR_MEMORY;
    p->x = p->given + nx;
    p->trial = p->x + nx;
    p->q = p->factor + n;
    p->lo = p->q + n;
    p->hi = p->lo + n;
    p->z = p->hi + n;
    return perp_lcp_solver_create(PERP_LCP_AUTO, n, &o, &p->solver);
}

static perp_status refuse(const projection *p, perp_diag *diag)
{
    perp__source findings = p->at.sim->model->source;
    findings.message = NULL;
    findings.nmessage = findings.capacity = findings.nerror = 0;
    perp__refuse(diag, PERP_ERR_NO_SOLUTION, perp__in(p->at.sim->model->source.name),
                 "no start was found near this one whose %s fulfil the conditions on them:\n",
                 p->is_second ? "velocities" : "positions");
    perp__starts_tell(&p->at, 0, &findings);
    perp__source_report(&findings, diag);
    perp__source_clear(&findings);
    return PERP_ERR_NO_SOLUTION;
}

/* What was moved to 0 but for rounding is 0. */
static void clean(projection *p)
{
    for (int i = 0; i < p->nx; i++)
        if (p->x[i] != p->given[i] && fabs(p->x[i]) <= DBL_EPSILON * p->at.size[i]) p->x[i] = 0;
}

static perp_status project(projection *p, perp_diag *diag)
{
    double *scratch;
    perp_status status = allocate(p, &scratch);
    if (status != PERP_OK) return status;
    for (int i = 0; i < p->nx; i++) p->given[i] = p->x[i] = perp_simulation_state(p->at.sim, i);
    for (int is_second = 0; is_second < 2; is_second++) {
        begin_part(p, is_second);
        if (project_part(p, scratch)) {
            clean(p);
            continue;
        }
        perp__starts_evaluate(&p->at, p->given);
        return refuse(p, diag);
    }
    return PERP_OK;
}

perp_status perp_simulation_project(perp_simulation *sim, double *moved, perp_diag *diag)
{
    if (!sim) return PERP_ERR_ARG;
    projection p = {.nx = sim->step.layout->nx};
    perp_status status = perp__starts_create(&p.at, sim) ? project(&p, diag) : PERP_ERR_MEMORY;
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, sim->model->source.name);
    for (int i = 0; i < p.nx && status == PERP_OK; i++) {
        if (moved) moved[i] = p.x[i] - p.given[i];
        perp_simulation_set_state(sim, i, p.x[i]);
    }
    perp_lcp_solver_destroy(p.solver);
    perp__starts_clear(&p.at);
    perp__arena_clear(&p.arena);
    return status;
}

int perp_simulation_inspect_start(const perp_simulation *sim, perp_diag *diag)
{
    if (!sim) return 0;
    perp__starts starts;
    perp__source findings = sim->model->source;
    findings.message = NULL;
    findings.nmessage = findings.capacity = findings.nerror = 0;
    int broken = -1;
    if (perp__starts_create(&starts, sim)) {
        perp__starts_evaluate(&starts, sim->step.ws + sim->step.layout->sym.y);
        broken = perp__starts_tell(&starts, 0, &findings);
        if (perp__source_lost(&findings)) broken = -1;
    }
    int errors = diag ? diag->errors : 0;
    perp__source_report(&findings, diag);
    if (diag) diag->errors = errors; /* these are warnings */
    perp__source_clear(&findings);
    perp__starts_clear(&starts);
    return broken;
}
