/* Planning problems with known answers (tests/data/plans): whether what is said of them is true. Some of them; all with
 * PERP_LONG=1. A word is false that no look at the plan could make true: see `fault_of`. */

#include "model/model.h"
#include "runs.h"
#include "outcomes.h"

#include <float.h>
#include <time.h>

/* Where the sum stands: what was found in each group, and what was false. */
typedef struct counts {
    const char *group;
    int all, found, other, on_mesh, none, wrong;
} counts;

typedef struct problem {
    char name[64], group[32], known[32], note[64];
    double within;
    int is_quick;
} problem;

/* Plans of their mesh only with the steps that they ask for: these are divided to this tolerance. */
static const char *const refined[] = {
    "chain3",   "chain4",    "chain5",    "chain6",        "chain8",    "chain10",    "acrobot",
    "cart_two", "line_disc", "thin_post", "thin_post_out", "thin_bump", "speed_limit"};
/* Their time errs by the root of what their state does, and is asked for to 1e-8. */
static const char *const switched[] = {"osc0", "osc1", "osc2", "osc3", "osc4", "osc5"};
static const double REFINED_TO = 1e-3, EXACT_TO = 1e-8;

/* So many of each group are found today. */
static const struct {
    const char *group;
    int least;
} reached[] = {{"smooth", 23}, {"classic", 60}, {"oscillator", 8}, {"contact", 17},
               {"none", 16},   {"trap", 13},    {"between", 10}};

static int is_long(void)
{
    const char *text = getenv("PERP_LONG");
    return text && text[0] != '0' && text[0] != 0;
}

static counts groups[8];
static int false_words;

static counts *group_of(const char *name)
{
    counts *c = groups;
    while (c->group && strcmp(c->group, name) != 0) c++;
    if (!c->group) c->group = strdup(name);
    return c;
}

/* A row of known.tsv. */
static int read_problem(FILE *file, problem *p)
{
    char line[512];
    while (fgets(line, sizeof line, file)) {
        char *field[6], *next = line;
        int n = 0;
        line[strcspn(line, "\n")] = '\0';
        while (n < 6 && next) {
            field[n++] = next;
            next = strchr(next, '\t');
            if (next) *next++ = '\0';
        }
        if (n < 6 || line[0] == '#' || strcmp(field[0], "name") == 0) continue;
        snprintf(p->name, sizeof p->name, "%.63s", field[0]);
        snprintf(p->group, sizeof p->group, "%.31s", field[1]);
        snprintf(p->known, sizeof p->known, "%.31s", field[2]);
        snprintf(p->note, sizeof p->note, "%.63s", field[5]);
        p->within = strtod(field[3], NULL);
        p->is_quick = field[4][0] == '1';
        return 1;
    }
    return 0;
}

/* Texts ---------------------------------------------------------------------------------------- */

static char *read_text(const problem *p, const char *ending)
{
    char path[1024], *text = calloc(1, 8192);
    snprintf(path, sizeof path, "%s/tests/data/plans/%s.%s", PERP_SOURCE_DIR, p->name, ending);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_true(fread(text, 1, 8191, file) > 0);
    fclose(file);
    return text;
}

/* The text with each NUMBER{a,b,c} times mass^a length^b time^c. */
static char *in_units(const char *text, const double unit[3])
{
    char *out = calloc(1, 16384), *end;
    size_t n = 0;
    while (*text) {
        double x = *text >= '0' && *text <= '9' ? strtod(text, &end) : 0;
        int e[3], used = 0;
        if (*text >= '0' && *text <= '9' && *end == '{' &&
            sscanf(end, "{%d,%d,%d}%n", &e[0], &e[1], &e[2], &used) == 3 && used) {
            for (int i = 0; i < 3; i++) x *= pow(unit[i], e[i]);
            n += (size_t)sprintf(out + n, "%.17g", x);
            text = end + used;
        } else {
            if (*text < '0' || *text > '9') end = (char *)text + 1;
            memcpy(out + n, text, (size_t)(end - text));
            n += (size_t)(end - text);
            text = end;
        }
    }
    return out;
}

/* Solving -------------------------------------------------------------------------------------- */

typedef struct answer {
    perp_model *model;
    perp_plan *plan;
    perp_plan_result result;
    perp_diag diag;
    double seconds;
} answer;

static answer solve(const char *text, const char *name)
{
    answer a = {0};
    struct timespec from, to;
    if (perp_model_parse(text, strlen(text), name, &a.model, &a.diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&a.diag));
    perp_plan_options o = perp_plan_options_default(a.model);
    for (size_t i = 0; i < sizeof refined / sizeof *refined; i++)
        if (strcmp(refined[i], name) == 0) o.motion_tol = REFINED_TO;
    for (size_t i = 0; i < sizeof switched / sizeof *switched; i++)
        if (strcmp(switched[i], name) == 0) o.motion_tol = EXACT_TO;
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (perp_plan_create(a.model, &o, &a.plan, &a.diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&a.diag));
    a.result.size = sizeof a.result;
    assert_int_equal(perp_plan_solve(a.plan, &a.result, &a.diag), PERP_OK);
    clock_gettime(CLOCK_MONOTONIC, &to);
    a.seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    return a;
}

static void clear(answer *a)
{
    perp_plan_destroy(a->plan);
    perp_model_destroy(a->model);
    perp_diag_clear(&a->diag);
}

/* An accurate motion ---------------------------------------------------------------------------- */

static double size_of_column(const perp_plan *plan, int c)
{
    double row[256], most = 0;
    assert_true(perp_plan_columns(plan) <= 256);
    for (int k = 0; k < perp_plan_rows(plan); k++) {
        perp_plan_row(plan, k, row);
        if (isfinite(row[c])) most = fmax(most, fabs(row[c]));
    }
    return most;
}

/* Held input c over a phase. */
static void set_held(perp_model *m, const perp_plan *plan, perp_plan_phase q, int c)
{
    int n = q.last - q.first, input = -1;
    double *t = calloc(2 * (size_t)(n + 2), sizeof *t), *x = t + n + 2, row[256];
    for (int k = 0; k <= n; k++) {
        perp_plan_row(plan, q.first + k, row);
        t[k] = row[0];
        x[k] = row[c];
    }
    t[n + 1] = 2 * t[n] - t[n - 1]; /* what is asked of a time behind the end */
    x[n + 1] = x[n];
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++)
        if (strcmp(m->item[PERP_INPUT][i].name, perp_plan_column_name(plan, c)) == 0) input = i;
    assert_true(input >= 0);
    assert_true(perp__item_set_pieces(&m->item[PERP_INPUT][input], t, x, n + 2, 1, "held"));
    free(t);
}

/* The largest difference to the plan at the nodes of a phase, relative to the sizes of the states. */
static double off_in_phase(const answer *a, perp_plan_phase q, perp_simulation *sim)
{
    double row[256], worst = 0;
    for (int k = q.first + 1; k <= q.last; k++) {
        perp_plan_row(a->plan, k, row);
        if (simulation_advance(sim, k < q.last ? row[0] : q.to, NULL, NULL) != PERP_OK)
            return INFINITY;
        for (int i = 0; i < perp_model_count(a->model, PERP_STATE); i++) {
            double size = size_of_column(a->plan, 1 + i);
            if (size > 1e-9)
                worst = fmax(worst, fabs(perp_simulation_state(sim, i) - row[1 + i]) / size);
        }
    }
    return worst;
}

/* How far the motion under these inputs is from the plan's, by radau5 at a small part of the step; -1 where this test cannot tell: pairs,
 * jumps, or inputs that change within a step. */
static double accurate(const answer *a, int finer)
{
    const perp_model *m = a->model;
    double worst = 0;
    int first = 1 + perp_model_count(m, PERP_STATE) + perp_model_count(m, PERP_VAR),
        end = perp_plan_columns(a->plan) - 1 - perp_model_count(m, PERP_STATE) -
              perp_model_count(m, PERP_OUTPUT);
    if (m->npair || m->nfriction || !perp_plan_holds_inputs(a->plan)) return -1;
    for (int i = 0; i < perp_plan_phases(a->plan); i++) {
        perp_plan_phase q = perp_plan_get_phase(a->plan, i);
        perp_model *copy = NULL;
        perp_simulation *sim = NULL;
        perp_diag diag = {0};
        double T = q.to - q.from;
        if (!(T > 1e-9)) continue;
        assert_int_equal(perp_plan_phase_model(a->plan, i, &copy, &diag), PERP_OK);
        for (int c = first; c < end; c++) set_held(copy, a->plan, q, c);
        perp_simulation_options o = perp_simulation_options_default(copy);
        o.from = q.from;
        o.to = q.to;
        o.step = T / (q.last - q.first) / finer;
        o.integrator = PERP_RADAU5;
        assert_int_equal(perp_simulation_create(copy, &o, &sim, &diag), PERP_OK);
        worst = fmax(worst, off_in_phase(a, q, sim));
        perp_simulation_destroy(sim);
        perp_model_destroy(copy);
        perp_diag_clear(&diag);
    }
    return worst;
}

/* Words ---------------------------------------------------------------------------------------- */

/* What is false in what was said; NULL: nothing. */
static const char *fault_of(const problem *p, answer *a)
{
    const perp_plan_result *r = &a->result;
    int has_plan = r->outcome < PERP_PLAN_FEASIBLE_ON_MESH,
        is_minimum = r->outcome <= PERP_PLAN_LOCAL_MINIMUM;
    double known = strtod(p->known, NULL), size = fmax(fabs(known), 1e-3);
    /* a plan is what it is to within its stated error */
    double stated = isfinite(r->replay) ? r->replay : 0,
           slack = fmax(p->within, isfinite(r->cost_error) ? r->cost_error / size : stated);
    if (strcmp(p->known, "none") == 0) return has_plan ? "there is no plan" : NULL;
    if (r->outcome == PERP_PLAN_INFEASIBLE) return "there is a plan";
    if (strcmp(p->known, "infimum") == 0)
        return r->outcome < PERP_PLAN_FEASIBLE ? "there is no minimum" : NULL;
    if (strchr("-0123456789", p->known[0])) {
        if (has_plan && r->cost < known - slack * size) return "cheaper than the optimum";
        if (r->outcome == PERP_PLAN_GLOBAL && r->cost > known + slack * size)
            return "a cheaper plan exists";
    }
    if (strncmp(p->note, "not:", 4) == 0 && is_minimum &&
        near(r->cost, strtod(p->note + 4, NULL), 1e-3))
        return "no minimum";
    if (strncmp(p->note, "nothing:", 8) == 0 && near(r->cost, strtod(p->note + 8, NULL), 1e-3) &&
        !strstr(perp_diag_text(&a->diag), "does nothing"))
        return "does nothing, which is not said";
    if (is_minimum && accurate(a, 8) > 1.1 * stated + 1e-7)
        return "an accurate motion misses what is stated";
    return NULL;
}

static int is_found(const problem *p, const perp_plan_result *r)
{
    double known = strtod(p->known, NULL);
    if (strcmp(p->note, "proved") == 0) return r->outcome == PERP_PLAN_INFEASIBLE;
    if (strcmp(p->known, "none") == 0) return !perp_plan_holds(r->outcome);
    if (strcmp(p->known, "infimum") == 0) return r->falls;
    if (r->outcome > PERP_PLAN_STATIONARY_S) return 0;
    if (p->known[0] == '?') return 1;
    if (strncmp(p->known, "<=", 2) == 0) return r->cost <= strtod(p->known + 2, NULL);
    return fabs(r->cost - known) <= p->within * fmax(fabs(known), 1e-3);
}

static void count(const problem *p, answer *a, const char *fault)
{
    counts *c = group_of(p->group);
    const perp_plan_result *r = &a->result;
    int found = is_found(p, r);
    c->all++;
    c->wrong += fault != NULL;
    if (found)
        c->found++;
    else if (r->outcome == PERP_PLAN_FEASIBLE_ON_MESH)
        c->on_mesh++;
    else if (perp_plan_holds(r->outcome))
        c->other++;
    else
        c->none++;
    printf("%-16s %-12s %-20s %-14.10g known %-14s %6d iterations %3d starts %7.3f s, off %.1e, "
           "worth %.1e%s%s\n",
           p->name, found ? "found" : "", perp_plan_outcome_name(r->outcome), r->cost, p->known,
           r->iterations, r->starts, a->seconds, r->replay, r->cost_error, fault ? " FALSE: " : "",
           fault ? fault : "");
    if (fault) false_words++;
    if (p->is_quick && !found) {
        printf("%s: not found any more\n", p->name);
        false_words++;
    }
}

static void words_of_plans_are_true(void **state)
{
    (void)state;
    problem p;
    FILE *file = fopen(PERP_SOURCE_DIR "/tests/data/plans/known.tsv", "r");
    assert_non_null(file);
    while (read_problem(file, &p)) {
        if (strcmp(p.group, "units") == 0 || !(is_long() || p.is_quick)) continue;
        char *text = read_text(&p, "perp");
        answer a = solve(text, p.name);
        count(&p, &a, fault_of(&p, &a));
        clear(&a);
        free(text);
    }
    fclose(file);
    printf("\n%-12s %5s %6s %6s %8s %5s %6s\n", "group", "all", "found", "other", "on mesh", "none",
           "FALSE");
    for (counts *c = groups; c->group; c++)
        printf("%-12s %5d %6d %6d %8d %5d %6d\n", c->group, c->all, c->found, c->other, c->on_mesh,
               c->none, c->wrong);
    for (size_t i = 0; i < sizeof reached / sizeof *reached && is_long(); i++)
        assert_true(group_of(reached[i].group)->found >= reached[i].least);
    assert_int_equal(false_words, 0);
}

/* Units ---------------------------------------------------------------------------------------- */

/* Largest difference of a column as part of its size; with `exact` any difference counts. */
static double profile_off(const perp_plan *a, const perp_plan *b, int c, int exact)
{
    double x[256], y[256], worst = 0, sx = size_of_column(a, c), sy = size_of_column(b, c);
    if (sx == 0 && sy == 0) return 0;
    for (int k = 0; k < perp_plan_rows(a); k++) {
        perp_plan_row(a, k, x);
        perp_plan_row(b, k, y);
        if (isnan(x[c]) && isnan(y[c])) continue;
        worst = fmax(worst, fabs(x[c] / sx - y[c] / sy));
    }
    return exact && worst > 0 ? 1 : worst;
}

/* What differs from the plan in plain units; NULL: nothing. */
static const char *differs(const answer *plain, const answer *scaled, double cost, int is_binary)
{
    static char text[128];
    const perp_plan_result *a = &plain->result, *b = &scaled->result;
    double tol = is_binary ? 0 : 1e-7; /* ten times that of the search */
    int states = perp_model_count(plain->model, PERP_STATE);
    if (a->outcome != b->outcome) return "the word";
    if (is_binary && a->iterations != b->iterations) return "the iterations";
    if (!perp_plan_holds(a->outcome)) return NULL;
    if (!(fabs(b->cost / cost - a->cost) <= tol * fabs(a->cost))) return "the cost";
    for (int c = 0; c <= states; c++) {
        double off = profile_off(plain->plan, scaled->plan, c, is_binary);
        snprintf(text, sizeof text, "%s by %.1e", perp_plan_column_name(plain->plan, c), off);
        if (!(off <= tol)) return text;
    }
    return NULL;
}

/* The unit of mass from which units are changed. Of a model that declares its own (`far`) one of which no number is near: near ones it is searched in
 * these. */
static double base_of(const problem *p)
{
    return strncmp(p->note, "far:", 4) == 0 ? 0x1p-40 : 1;
}

/* One quantity in another unit. */
static void try_unit(const problem *p, const char *text, const answer *plain, int quantity,
                     double factor, counts *c)
{
    static const char *const names[] = {"mass", "length", "time"};
    double unit[3] = {base_of(p), 1, 1};
    int e[3] = {0};
    assert_int_equal(sscanf(strchr(p->note, ':'), ":%d,%d,%d", &e[0], &e[1], &e[2]), 3);
    unit[quantity] *= factor;
    char *scaled_text = in_units(text, unit);
    answer scaled = solve(scaled_text, p->name);
    int exponent, is_binary = frexp(factor, &exponent) == 0.5;
    const char *what = differs(plain, &scaled, pow(factor, e[quantity]), is_binary);
    c->all++;
    c->found += what == NULL;
    c->wrong += what != NULL;
    if (what)
        printf("%s, %s in units of %g: %s (%s, %.12g, %d iterations; plain: %s, %.12g, %d)\n",
               p->name, names[quantity], factor, what,
               perp_plan_outcome_name(scaled.result.outcome), scaled.result.cost,
               scaled.result.iterations, perp_plan_outcome_name(plain->result.outcome),
               plain->result.cost, plain->result.iterations);
    clear(&scaled);
    free(scaled_text);
}

static void plans_do_not_depend_on_units(void **state)
{
    static const double factors[] = {0x1p-20, 0x1p20, 1e-6, 1e-3, 1e3, 1e6};
    (void)state;
    problem p;
    int wrong = 0;
    FILE *file = fopen(PERP_SOURCE_DIR "/tests/data/plans/known.tsv", "r");
    assert_non_null(file);
    while (read_problem(file, &p)) {
        if (strcmp(p.group, "units") != 0 || !(is_long() || p.is_quick)) continue;
        const double plain_units[3] = {base_of(&p), 1, 1};
        char *text = read_text(&p, "units"), *plain_text = in_units(text, plain_units);
        answer plain = solve(plain_text, p.name);
        counts c = {0};
        assert_true(is_found(&p, &plain.result));
        for (int q = 0; q < 3; q++)
            for (size_t f = 0; f < sizeof factors / sizeof *factors; f++)
                try_unit(&p, text, &plain, q, factors[f], &c);
        printf("%-16s the same in %d of %d units\n", p.name, c.found, c.all);
        wrong += c.wrong;
        clear(&plain);
        free(plain_text);
        free(text);
    }
    fclose(file);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_of_plans_are_true),
                                       cmocka_unit_test(plans_do_not_depend_on_units)};
    return run_all(tests);
}
