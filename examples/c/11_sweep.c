/* A study of tolerances: how far the particle of the notes slides when its mass and friction are only known so well. */

#include <perp/sweep.h>

#include <math.h>
#include <stdio.h>

typedef struct moments {
    long n, refused;
    double sum, squares;
} moments;

static perp_status take(void *context, const perp_sweep_result *result)
{
    moments *m = context;
    if (result->status != PERP_OK) {
        m->refused++;
        return PERP_OK;
    }
    double x = result->value[2]; /* behind m and mu */
    m->n++;
    m->sum += x;
    m->squares += x * x;
    return PERP_OK;
}

int main(void)
{
    static const char *const vary[] = {"m=normal(10, 0.5)", "mu=triangular(0.1, 0.2, 0.3)"},
                            *const keep[] = {"final(x)"};
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_sweep *sweep = NULL;
    moments m = {0};
    perp_status status = perp_model_load("examples/notes/particle.perp", &model, &diag);
    perp_sweep_options o = perp_sweep_options_default();
    o.vary = vary, o.nvary = 2;
    o.keep = keep, o.nkeep = 1;
    o.samples = 256;
    o.design = PERP_DESIGN_SOBOL;
    if (status == PERP_OK) status = perp_sweep_create(model, &o, &sweep, &diag);
    if (status == PERP_OK) status = perp_sweep_run(sweep, NULL, take, &m);
    if (status == PERP_OK) {
        double mean = m.sum / (double)m.n;
        printf("%ld runs, %ld refused: it comes to rest at %.3f m +- %.3f\n", m.n, m.refused, mean,
               sqrt(m.squares / (double)m.n - mean * mean));
        printf("%s\n", m.n == 256 ? "ok" : "failed");
    } else {
        fprintf(stderr, "%s%s\n", perp_diag_text(&diag), perp_status_message(status));
    }
    perp_sweep_destroy(sweep);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return status != PERP_OK;
}
