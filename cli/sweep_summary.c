/* What a sweep came to, in a few lines: how many jobs ended how, and the spread of each column. */

#include "base/sorted.h"
#include "cli.h"
#include "json.h"
#include "sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 1 << 16, REASON = 200 };

/* Of a column. */
typedef struct spread {
    double low, high, sum;
    long long n;
} spread;

/* How many jobs ended in a word, and the first of them. */
typedef struct tally {
    char outcome[40];
    long long n, first;
} tally;
enum { WORDS = 16 }; /* more than any task has */

struct cli_sweep_summary {
    const perp_sweep *sweep;
    int n;
    spread *column;
    double *kept; /* of each stride-th job, a row each */
    long long stride, nkept, verified, none, refused, first_bad;
    tally word[WORDS];
    int nword;
    char reason[REASON]; /* of the first job that was not verified */
};

cli_sweep_summary *cli_summary_create(long long jobs, const perp_sweep *sweep)
{
    cli_sweep_summary *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->sweep = sweep;
    s->n = perp_sweep_columns(sweep);
    s->stride = (jobs + KEPT - 1) / KEPT;
    s->first_bad = -1;
    long long rows = (jobs + s->stride - 1) / s->stride;
    s->column = calloc((size_t)s->n + 1, sizeof *s->column);
    s->kept = malloc((size_t)rows * (size_t)s->n * sizeof *s->kept);
    if (!s->column || !s->kept) {
        cli_summary_destroy(s);
        return NULL;
    }
    for (int i = 0; i < s->n; i++) s->column[i] = (spread){.low = INFINITY, .high = -INFINITY};
    return s;
}

void cli_summary_destroy(cli_sweep_summary *s)
{
    if (!s) return;
    free(s->column);
    free(s->kept);
    free(s);
}

static void count(cli_sweep_summary *s, long long job, const char *outcome)
{
    int i = 0;
    while (i < s->nword && strcmp(s->word[i].outcome, outcome) != 0) i++;
    if (i == WORDS) return;
    tally *t = &s->word[i];
    if (i == s->nword) {
        s->nword++;
        snprintf(t->outcome, sizeof t->outcome, "%s", outcome);
        t->first = job;
    }
    t->n++;
    if (job < t->first) t->first = job;
}

void cli_summary_add(cli_sweep_summary *s, long long job, const char *outcome, const char *reason,
                     const double *value)
{
    int is_verified = !reason[0], is_refused = strcmp(outcome, "refused") == 0;
    s->verified += is_verified;
    s->refused += is_refused;
    s->none += !is_verified && !is_refused;
    count(s, job, outcome);
    if (!is_verified && (s->first_bad < 0 || job < s->first_bad)) {
        s->first_bad = job;
        snprintf(s->reason, sizeof s->reason, "%s", reason);
    }
    for (int i = 0; i < s->n; i++) {
        if (isnan(value[i])) continue;
        spread *c = &s->column[i];
        c->low = fmin(c->low, value[i]);
        c->high = fmax(c->high, value[i]);
        c->sum += value[i];
        c->n++;
    }
    if (job % s->stride == 0)
        memcpy(s->kept + s->nkept++ * s->n, value, (size_t)s->n * sizeof *value);
}

/* low, 5 %, median, 95 %, high, mean of a column, NaN where it has no values. 0 when memory is
 * out. */
enum { FIGURES = 6 };
static int figures(const cli_sweep_summary *s, int column, double figure[FIGURES])
{
    static const double share[] = {0.05, 0.5, 0.95};
    double *sorted = malloc(((size_t)s->nkept + 1) * sizeof *sorted);
    size_t n = 0;
    if (!sorted) return 0;
    for (long long i = 0; i < s->nkept; i++) {
        double x = s->kept[i * s->n + column];
        if (!isnan(x)) sorted[n++] = x;
    }
    perp__sort(sorted, n);
    const spread *c = &s->column[column];
    for (int k = 0; k < 3; k++) figure[k + 1] = perp__quantile(sorted, n, share[k]);
    free(sorted);
    figure[0] = c->n ? c->low : (double)NAN;
    figure[4] = c->n ? c->high : (double)NAN;
    figure[5] = c->n ? c->sum / (double)c->n : (double)NAN;
    return 1;
}

static const char *const names[FIGURES] = {"low", "q05", "median", "q95", "high", "mean"};

static int by_first(const void *a, const void *b)
{
    long long x = ((const tally *)a)->first, y = ((const tally *)b)->first;
    return (x > y) - (x < y);
}

/* Runs in the same three words always, other tasks in those that came, in the order of jobs. */
static void print_outcomes(cli_sweep_summary *s)
{
    if (perp_sweep_get_task(s->sweep) == PERP_SWEEP_SIMULATE) {
        printf("%lld verified, %lld without a solution, %lld refused", s->verified, s->none,
               s->refused);
        return;
    }
    qsort(s->word, (size_t)s->nword, sizeof *s->word, by_first);
    for (int i = 0; i < s->nword; i++)
        printf("%s%lld %s", i ? ", " : "", s->word[i].n, s->word[i].outcome);
}

void cli_summary_print(cli_sweep_summary *s)
{
    double figure[FIGURES];
    print_outcomes(s);
    if (s->first_bad >= 0) printf("; job %lld: %s", s->first_bad, s->reason);
    if (!s->verified) {
        printf("\n");
        return;
    }
    printf("\n\n  %-16s %12s %12s %12s %12s %12s %12s", s->stride > 1 ? "quantiles: a part" : "",
           "low", "5 %", "median", "95 %", "high", "mean");
    for (int i = 0; i < s->n; i++) {
        if (!figures(s, i, figure)) cli_exit_code(PERP_ERR_MEMORY);
        printf("\n  %-16s", perp_sweep_column_name(s->sweep, i));
        for (int k = 0; k < FIGURES; k++)
            if (isnan(figure[k]))
                printf(" %12s", "-");
            else
                printf(" %12.6g", figure[k]);
        printf("  %s", perp_sweep_column_unit(s->sweep, i));
    }
    printf("\n\n");
}

void cli_summary_json(cli_sweep_summary *s, cJSON *object)
{
    double figure[FIGURES];
    cJSON_AddNumberToObject(object, "verified", (double)s->verified);
    cJSON_AddNumberToObject(object, "no_solution", (double)s->none);
    cJSON_AddNumberToObject(object, "refused", (double)s->refused);
    cJSON *words = cJSON_AddObjectToObject(object, "outcomes");
    qsort(s->word, (size_t)s->nword, sizeof *s->word, by_first);
    for (int i = 0; i < s->nword; i++)
        cJSON_AddNumberToObject(words, s->word[i].outcome, (double)s->word[i].n);
    cJSON *list = cJSON_AddArrayToObject(object, "columns");
    for (int i = 0; i < s->n; i++) {
        cJSON *column = cJSON_CreateObject();
        cJSON_AddStringToObject(column, "name", perp_sweep_column_name(s->sweep, i));
        cJSON_AddStringToObject(column, "unit", perp_sweep_column_unit(s->sweep, i));
        if (!figures(s, i, figure)) cli_exit_code(PERP_ERR_MEMORY);
        for (int k = 0; k < FIGURES; k++) cli_json_add_number(column, names[k], figure[k]);
        cJSON_AddItemToArray(list, column);
    }
}
