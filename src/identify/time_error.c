/* The effect of the error of time steps on the estimates. All runs are predicted once more at the
 * estimates, by a method of higher order, or by half the steps. To first order the change of the
 * residuals gives the change of each estimate, and how well the finer runs would then fit. */

#include "base/number.h"
#include "base/tol.h"
#include "identify/identify.h"
#include "linalg/invert.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = PERP_IDENTIFY_MOST_PARAMETERS };

/* Of standard errors: an interval of 95 % that is so far off holds the truth in 94 %. */
#define NOTHING 0.25

/* The residuals of finer runs at the estimates minus those of the fit, n of them. */
typedef struct finer {
    perp__study study;
    double gain; /* of the difference: what of the error of the runs it is */
    double *change;
    perp_status status;
} finer;

/* How many steps of the study can be one of a method of order 5, so that rows still end steps:
 * few. */
static int merge(const perp__study *s)
{
    enum { MOST_MERGED = 5 };
    for (int n = MOST_MERGED; n > 1; n--) {
        int fits = 1;
        for (int r = 0; r < s->nrun; r++)
            for (int i = 0; i < s->run[r].rows; i++) fits &= s->run[r].at[i] % n == 0;
        if (fits) return n;
    }
    return 1;
}

/* How the runs are predicted more accurately: by a method of higher order, where that fits the
 * model, else by half the steps. */
static void choose(finer *f, const perp__study *s)
{
    perp_integrator by = s->integrator;
    int has_radau = by == PERP_RADAU3 || by == PERP_RADAU5 || by == PERP_RADAU7;
    *f = (finer){.study = *s, .gain = 1};
    if (by == PERP_RADAU7) {
        f->study.parts = 2;
        return;
    }
    perp_integrator finer_by;
    if (by == PERP_RADAU5)
        finer_by = PERP_RADAU7;
    else if (has_radau)
        finer_by = PERP_RADAU5;
    else
        finer_by = perp_simulation_recommend(s->model);
    if (finer_by == PERP_INTEGRATOR_COUNT) f->status = PERP_ERR_MEMORY;
    if (finer_by == PERP_RADAU5 || finer_by == PERP_RADAU7) {
        f->study.integrator = finer_by;
        f->study.merged = has_radau ? 1 : merge(s);
    } else {
        f->study.parts = 2;
        f->gain = 2;
    } /* half the error is left by order 1 */
}

static void predict(finer *f, const perp__minimum *m, long n)
{
    perp__predictor *predictor = NULL;
    f->change = malloc(((size_t)n + 1) * sizeof *f->change);
    f->status = f->change ? perp__predictor_create(&f->study, &predictor) : PERP_ERR_MEMORY;
    if (f->status == PERP_OK) f->status = perp__predictor_evaluate(predictor, m->theta, f->change);
    for (long i = 0; i < n && f->status == PERP_OK; i++)
        f->change[i] = f->gain * (f->change[i] - m->residual[i]);
    perp__predictor_destroy(predictor);
}

static double weight_of(const perp__problem *p, double residual)
{
    double size = fabs(residual);
    if (isnan(residual)) return 0;
    if (p->huber > 0 && size > p->huber) return p->huber / size;
    return 1;
}

/* The steps of the identifiable parameters that the change asks for, in z; 0: they cannot be
 * had. */
static int step(const perp__problem *p, const perp__minimum *m, const double *change,
                const perp_identification *result, double *dz)
{
    double A[MOST * MOST], g[MOST], b[MOST] = {0};
    int list[MOST], n = 0, np = p->np;
    for (int i = 0; i < np; i++)
        if (result->parameter[i].identifiable) list[n++] = i;
    perp__normal_equations(p, m, A, g);
    for (long i = 0; i < p->n; i++) {
        double w = weight_of(p, m->residual[i]) * change[i];
        for (int a = 0; a < n && w != 0 && !isnan(w); a++)
            b[a] += w * m->jacobian[i + (long)list[a] * p->n];
    }
    double *B = p->square, *inverse = B + n * n;
    for (int a = 0; a < n; a++)
        for (int c = 0; c < n; c++) B[a + c * n] = A[list[a] + list[c] * np];
    if (n == 0 || !perp__invert(n, B, n, NULL, inverse, inverse + n * n, p->index)) return 0;
    for (int i = 0; i < np; i++) dz[i] = 0;
    for (int a = 0; a < n; a++)
        for (int c = 0; c < n; c++) dz[list[a]] -= inverse[a + c * n] * b[c];
    return 1;
}

/* The cost of the finer runs after that step. */
static double cost_after(const perp__problem *p, const perp__minimum *m, const double *change,
                         const double *dz)
{
    double sum = 0;
    for (long i = 0; i < p->n; i++) {
        double r = m->residual[i] + change[i], w = weight_of(p, m->residual[i]);
        for (int k = 0; k < p->np; k++) r += m->jacobian[i + (long)k * p->n] * dz[k];
        if (!isnan(r)) sum += w * r * r;
    }
    return sum;
}

/* The estimate that would go furthest, in its standard errors; -1: none has any. */
static int furthest(const perp__study *s, const perp__minimum *m, const perp_identification *result,
                    const double *dz, double *shift)
{
    int worst = -1;
    *shift = 0;
    for (int i = 0; i < s->np; i++) {
        const perp_estimate *e = &result->parameter[i];
        double by = fabs(dz[i] * perp__slope(s, m->theta, i)) / e->std_error;
        if (!e->identifiable || !(e->std_error > 0) || !(by >= *shift)) continue;
        worst = i;
        *shift = by;
    }
    return worst;
}

/* What the finer runs are, "radau7" or "steps of 5e-3 s". */
static void name_finer(const finer *f, char *text, size_t size)
{
    if (f->study.parts > 1)
        perp__format(text, size, "steps of %g s", f->study.step / f->study.parts);
    else
        perp__format(text, size, "%s", perp_integrator_name(f->study.integrator));
}

static int judge(const perp__study *s, const perp__problem *p, const perp__minimum *m,
                 const finer *f, perp__worth *worth, perp_identification *result)
{
    double dz[MOST], shift;
    char beside[64];
    if (!step(p, m, f->change, result, dz)) return 1;
    int worst = furthest(s, m, result, dz, &shift);
    if (worst < 0) return 1;
    name_finer(f, beside, sizeof beside);
    result->time_shift = shift;
    double dof = fmax(1, (double)(result->samples - s->np)), variance = m->cost / dof;
    double cost = cost_after(p, m, f->change, dz);
    if (shift <= NOTHING) return 1;
    if (cost > m->cost + PERP_BETTER_FIT * variance)
        return perp__finding(
            result,
            "the data are those of steps of %g s by %s: beside %s, which would move "
            "%s by %.2g of its standard error, they leave over %.3g of the cost",
            s->step, perp_integrator_name(s->integrator), beside, result->parameter[worst].name,
            shift, m->cost / cost);
    worth->is_off = 1;
    return perp__finding(
        result,
        "no interval: steps of %g s by %s are too far from the motion: beside %s "
        "they move %s by %.2g of its standard error; take --integrator radau5, or a "
        "shorter --step",
        s->step, perp_integrator_name(s->integrator), beside, result->parameter[worst].name, shift);
}

perp_status perp__time_error(const perp__study *s, const perp__problem *p, const perp__minimum *m,
                             perp__worth *worth, perp_identification *result)
{
    int has_errors = 0, ok = 1;
    for (int i = 0; i < s->np; i++) has_errors |= result->parameter[i].std_error > 0;
    if (perp_model_get_kind(s->model) == PERP_DISCRETE || !has_errors || p->status != PERP_OK)
        return PERP_OK;
    finer f;
    choose(&f, s);
    if (f.status == PERP_OK) predict(&f, m, p->n);
    if (f.status == PERP_OK) ok = judge(s, p, m, &f, worth, result);
    free(f.change);
    if (!ok || f.status == PERP_ERR_MEMORY) return PERP_ERR_MEMORY;
    if (f.status == PERP_OK) return PERP_OK;
    worth->is_off = 1;
    return perp__finding(result, "no interval: how far the steps are from the motion is not known: "
                                 "finer ones have no verified solution")
               ? PERP_OK
               : PERP_ERR_MEMORY;
}
