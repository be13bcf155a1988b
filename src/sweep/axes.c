/* "NAME=0:1:11", "NAME=1,2,5", "NAME=normal(1, 0.1)": texts of what varies, and the point that a
 * job stands for. */

#include "base/words.h"
#include "sweep/axes.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Distributions ------------------------------------------------------------------------------- */

/* Newton's steps on ln of the lower tail, u <= 1/2; from Abramowitz and Stegun 26.2.22. */
static double normal_quantile(double u)
{
    enum { STEPS = 8 };
    if (u > 0.5) return -normal_quantile(1 - u);
    double t = sqrt(-2 * log(u)),
           x = -(t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t)));
    for (int k = 0; k < STEPS; k++) {
        double tail = 0.5 * erfc(-x * 0.70710678118654752),
               density = 0.39894228040143268 * exp(-0.5 * x * x);
        x -= tail / density * log(tail / u);
    }
    return x;
}

static double uniform(const double *a, double u)
{
    return a[0] + (a[1] - a[0]) * u;
}

static double loguniform(const double *a, double u)
{
    return a[0] * pow(a[1] / a[0], u);
}

static double normal(const double *a, double u)
{
    return a[0] + a[1] * normal_quantile(u);
}

static double lognormal(const double *a, double u)
{
    return a[0] * exp(a[1] * normal_quantile(u));
}

static double triangular(const double *a, double u)
{
    double width = a[2] - a[0], left = (a[1] - a[0]) / width;
    return u < left ? a[0] + sqrt(u * left) * width : a[2] - sqrt((1 - u) * (1 - left)) * width;
}

static int is_range(const double *a)
{
    return a[0] < a[1] && isfinite(a[1] - a[0]);
}

static int is_positive_range(const double *a)
{
    return a[0] > 0 && is_range(a);
}

static int has_spread(const double *a)
{
    return a[1] > 0;
}

static int has_positive_median(const double *a)
{
    return a[0] > 0 && a[1] > 0;
}

static int has_mode(const double *a)
{
    return a[0] <= a[1] && a[1] <= a[2] && a[0] < a[2] && isfinite(a[2] - a[0]);
}

static const struct distribution {
    const char *word;
    int n;
    const char *arguments, *condition;
    int (*is_valid)(const double *a);
    double (*quantile)(const double *a, double u);
} distributions[] = {
    {"uniform", 2, "low, high", "low < high", is_range, uniform},
    {"loguniform", 2, "low, high", "0 < low < high", is_positive_range, loguniform},
    {"normal", 2, "mean, sd", "sd > 0", has_spread, normal},
    {"lognormal", 2, "median, sd of the logarithm", "both > 0", has_positive_median, lognormal},
    {"triangular", 3, "low, mode, high", "low <= mode <= high, low < high", has_mode, triangular},
};
enum { DISTRIBUTIONS = sizeof distributions / sizeof *distributions };

/* Reading ------------------------------------------------------------------------------------- */

typedef struct reader {
    const char *text, *at; /* the whole, and the unread rest */
    perp__arena *arena;
    perp_diag *diag;
} reader;

static perp_status refuse(const reader *r, const char *what)
{
    return perp__refuse(r->diag, PERP_ERR_ARG, perp__in(NULL), "'%s': %s\n", r->text, what);
}

static void skip_blanks(reader *r)
{
    while (isspace((unsigned char)*r->at)) r->at++;
}

static int take(reader *r, char c)
{
    skip_blanks(r);
    if (*r->at != c) return 0;
    r->at++;
    return 1;
}

static int take_number(reader *r, double *x)
{
    const char *rest;
    *x = perp_number_read(r->at, &rest);
    if (rest == r->at || !isfinite(*x)) return 0;
    r->at = rest;
    return 1;
}

static perp_status read_distribution(reader *r, perp__axis *axis, size_t length)
{
    char said[256];
    const char *words[DISTRIBUTIONS], *word = r->at;
    for (int k = 0; k < DISTRIBUTIONS; k++) words[k] = distributions[k].word;
    int k = 0;
    while (k < DISTRIBUTIONS &&
           !(strlen(words[k]) == length && strncmp(words[k], word, length) == 0))
        k++;
    if (k == DISTRIBUTIONS) {
        const char *name = perp__arena_string(r->arena, word, length);
        if (!name) return PERP_ERR_MEMORY;
        return refuse(r, perp_unknown_word("distribution", name, words, DISTRIBUTIONS, NULL, said,
                                           sizeof said));
    }
    const struct distribution *d = &distributions[k];
    axis->distribution = k;
    r->at += length;
    int ok = take(r, '(');
    for (int i = 0; i < d->n && ok; i++)
        ok = (i == 0 || take(r, ',')) && take_number(r, &axis->a[i]);
    ok = ok && take(r, ')');
    snprintf(said, sizeof said, "%s(%s) is expected, with %s", d->word, d->arguments, d->condition);
    return ok && d->is_valid(axis->a) ? PERP_OK : refuse(r, said);
}

/* LOW:HIGH, LOW:HIGH:N; LOW was read. */
static perp_status read_range(reader *r, perp__axis *axis, double low)
{
    enum { MOST_POINTS = 100000000 };
    double high, n;
    if (!take_number(r, &high)) return refuse(r, "LOW:HIGH or LOW:HIGH:N is expected");
    axis->a[0] = low;
    axis->a[1] = high;
    if (!take(r, ':')) return is_range(axis->a) ? PERP_OK : refuse(r, "LOW < HIGH is expected");
    if (!take_number(r, &n) || n != floor(n) || n < 2 || n > MOST_POINTS)
        return refuse(r, "the number of points is a whole number from 2 on");
    axis->n = (long)n;
    if (!PERP_TAKE(r->arena, axis->point, axis->n)) return PERP_ERR_MEMORY;
    for (long i = 0; i < axis->n; i++) {
        double s = (double)i / (n - 1);
        axis->point[i] = (1 - s) * low + s * high;
    }
    return PERP_OK;
}

static perp_status read_list(reader *r, perp__axis *axis, double first)
{
    int capacity = 0;
    do {
        if (axis->n && !take_number(r, &first)) return refuse(r, "a number is expected after ','");
        if (!perp__arena_grow(r->arena, &axis->point, &capacity, (int)axis->n + 1,
                              sizeof *axis->point))
            return PERP_ERR_MEMORY;
        axis->point[axis->n++] = first;
    } while (take(r, ','));
    return PERP_OK;
}

static perp_status read_axis(perp__axis *axis, const char *text, perp__arena *arena,
                             perp_diag *diag)
{
    reader r = {text, text, arena, diag};
    const char *equals = strchr(text, '=');
    double x;
    size_t word = 0;
    if (!equals || equals == text)
        return refuse(&r, "NAME=LOW:HIGH:N, NAME=A,B,C or NAME=normal(1, 0.1) is expected");
    axis->text = perp__arena_string(arena, text, strlen(text));
    axis->name = perp__arena_string(arena, text, (size_t)(equals - text));
    if (arena->failed) return PERP_ERR_MEMORY;
    r.at = equals + 1;
    skip_blanks(&r);
    while (isalpha((unsigned char)r.at[word])) word++;
    perp_status status;
    if (word)
        status = read_distribution(&r, axis, word);
    else if (!take_number(&r, &x))
        status = refuse(&r, "a number or a distribution is expected after '='");
    else if (take(&r, ':'))
        status = read_range(&r, axis, x);
    else
        status = read_list(&r, axis, x);
    skip_blanks(&r);
    return status == PERP_OK && *r.at ? refuse(&r, "there is more than was expected") : status;
}

perp_status perp__axes_read(perp__axes *axes, const perp_sweep_options *o, perp__arena *arena,
                            perp_diag *diag)
{
    const double MOST_JOBS = 9007199254740992; /* 2^53: counted exactly by doubles, too */
    double jobs = 1;
    axes->n = o->nvary;
    axes->design = o->design;
    axes->seed = o->seed;
    axes->samples = 1;
    PERP_TAKE(arena, axes->axis, o->nvary + 1);
    if (arena->failed) return PERP_ERR_MEMORY;
    for (int i = 0; i < o->nvary; i++) {
        perp__axis *axis = &axes->axis[i];
        perp_status status = read_axis(axis, o->vary[i], arena, diag);
        if (status != PERP_OK) return status;
        for (int k = 0; k < i; k++)
            if (strcmp(axes->axis[k].name, axis->name) == 0)
                return perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL), "'%s' varies twice\n",
                                    axis->name);
        axis->drawn = axis->point ? -1 : axes->ndrawn++;
        jobs *= axis->point ? (double)axis->n : 1;
    }
    int is_paired = axes->design == PERP_DESIGN_SALTELLI;
    if (is_paired && axes->ndrawn < axes->n)
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL),
                            "design saltelli: all that varies needs a distribution\n");
    axes->block = is_paired ? axes->ndrawn + 2 : 1;
    if (axes->ndrawn) axes->samples = o->samples;
    jobs *= (double)axes->samples * axes->block;
    if (!(jobs <= MOST_JOBS))
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL), "these are %.3g jobs\n", jobs);
    axes->jobs = (long long)jobs;
    if (!axes->ndrawn || (axes->design != PERP_DESIGN_SOBOL && !is_paired)) return PERP_OK;
    int n = axes->ndrawn * (is_paired ? 2 : 1);
    PERP_TAKE(arena, axes->direction, n);
    if (arena->failed) return PERP_ERR_MEMORY;
    perp__sobol_directions(axes->direction, n);
    return PERP_OK;
}

/* The column of a sample's numbers for an axis: its own. In a block of Saltelli's design (2010,
 * section 3) point 1 is all of the other half, and point 2 + k its k-th. */
static int column_of(const perp__axes *axes, int drawn, int point)
{
    return drawn + (point == 1 || point == 2 + drawn ? axes->ndrawn : 0);
}

void perp__axes_at(const perp__axes *axes, long long job, double *value)
{
    int point = (int)(job % axes->block);
    job /= axes->block;
    long long combination = job / axes->samples;
    long sample = (long)(job % axes->samples);
    for (int i = axes->n - 1; i >= 0; i--) { /* the last axis is the fastest */
        const perp__axis *axis = &axes->axis[i];
        if (axis->point) {
            value[i] = axis->point[combination % axis->n];
            combination /= axis->n;
        } else {
            value[i] = distributions[axis->distribution].quantile(
                axis->a, perp__draw(axes, sample, column_of(axes, axis->drawn, point)));
        }
    }
}
