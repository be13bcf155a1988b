/* perp plan beside IPOPT on the same programs in the same run: the push over the number of nodes, from
 * its guesses; then N = 40 from lines, zeros and 20 random starts; then the smooth examples. CPU time of this thread, the
 * two in turn; the ratio is that of the least times. --list: the problems of bench/plans.txt alone. */

#include "perp/perp.h"
#include "timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct timed {
    perp_plan_result result;
    times time; /* of the solves */
    int is_there;
} timed;

static void solve_once(const perp_model *m, const perp_plan_options *o, timed *t)
{
    perp_plan *plan;
    if (perp_plan_create(m, o, &plan, NULL) != PERP_OK) return;
    double start = cpu_now();
    t->result.size = sizeof t->result;
    perp_plan_solve(plan, &t->result, NULL);
    times_add(&t->time, cpu_now() - start);
    t->is_there = 1;
    perp_plan_destroy(plan);
}

/* IPOPT as often as this one up to `ipopt_most` times, one after the other. */
static void solve(const perp_model *m, perp_plan_options o, int repetitions, int ipopt_most,
                  timed *own, timed *ipopt)
{
    perp_plan_options other = o;
    other.backend = PERP_PLAN_IPOPT;
    *own = *ipopt = (timed){.is_there = 0};
    for (int i = 0; i < repetitions; i++) {
        solve_once(m, &o, own);
        if (i < ipopt_most) solve_once(m, &other, ipopt);
    }
}

static perp_model *load(const char *file)
{
    perp_diag diag = {0};
    perp_model *m;
    if (perp_model_load(file, &m, &diag) == PERP_OK) return m;
    fprintf(stderr, "%s(run from the source directory)\n", perp_diag_text(&diag));
    exit(1);
}

static void print_line(const char *name, int nodes, timed *own, timed *ipopt, double known)
{
    double least = times_least(&own->time), ipopt_least = times_least(&ipopt->time);
    printf("%-18s %5d  %.10f %9.1e %-9s %5d %9.3f %9.3f", name, nodes, own->result.cost,
           own->result.cost - known, perp_plan_outcome_name(own->result.outcome),
           own->result.iterations, 1e3 * least, 1e3 * times_median(&own->time));
    if (ipopt->is_there)
        printf("  | %.10f %-9s %5d %10.2f %10.2f %6.0fx", ipopt->result.cost,
               perp_plan_outcome_name(ipopt->result.outcome), ipopt->result.iterations,
               1e3 * ipopt_least, 1e3 * times_median(&ipopt->time), ipopt_least / least);
    printf("\n");
}

static void print_head(const char *title)
{
    printf("\n%s\n%-18s %5s  %12s %9s %-9s %5s %9s %9s  | %12s %-9s %5s %10s %10s %7s\n", title,
           "example", "nodes", "own cost", "off by", "outcome", "iter", "least ms", "median",
           "IPOPT cost", "outcome", "iter", "least ms", "median", "ratio");
}

static void bench_nodes(void)
{
    static const double known[] = {0.65, 0.640774613, 0.636542562, 0.634524189, NAN, NAN, NAN};
    perp_model *m = load("examples/opty/push.perp");
    print_head("the push, from straight lines; 5 solves, IPOPT 2");
    double first = 0, last = 0;
    for (int i = 0, nodes = 40; nodes <= 2560; nodes *= 2, i++) {
        perp_plan_options o = perp_plan_options_default(m);
        o.nodes = nodes;
        timed own, ipopt;
        solve(m, o, 5, nodes <= 640 ? 2 : 0, &own, &ipopt);
        print_line("push", nodes, &own, &ipopt, known[i]);
        last = times_least(&own.time) / nodes;
        if (i == 0) first = last;
    }
    printf("time a node at N = 2560 over that at N = 40: %.2f\n", last / first);
    perp_model_destroy(m);
}

static void bench_starts(void)
{
    perp_model *m = load("examples/opty/push.perp");
    double worst = 0, total = 0, off = 0;
    int stationary = 0, n = 22;
    for (int k = 0; k < n; k++) {
        perp_plan_options o = perp_plan_options_default(m);
        o.start = k == 0   ? PERP_PLAN_START_MODEL
                  : k == 1 ? PERP_PLAN_START_ZEROS
                           : PERP_PLAN_START_RANDOM;
        o.seed = (unsigned)k;
        o.restarts = 0;
        timed own, ipopt;
        solve(m, o, 3, 0, &own, &ipopt);
        double seconds = times_least(&own.time);
        stationary += own.result.outcome <= PERP_PLAN_STATIONARY_S;
        worst = fmax(worst, seconds);
        total += seconds;
        off = fmax(off, fabs(own.result.cost - 0.65));
    }
    printf("\nthe push, N = 40, lines, zeros and 20 random starts, no restarts: %d of %d "
           "stationary, at "
           "most %.1e off 0.65, %.2f ms on average, %.2f ms at most\n",
           stationary, n, off, 1e3 * total / n, 1e3 * worst);
    perp_model_destroy(m);
}

static void bench_examples(void)
{
    static const struct {
        const char *name, *file;
        double known;
    } examples[] = {{"push, phases", "examples/opty/push_phases.perp", 0.632524016341},
                    {"brachistochrone", "examples/control/brachistochrone.perp", 1.790301924},
                    {"double integrator", "examples/control/double_integrator.perp", 12},
                    {"hypersensitive", "examples/control/hypersensitive.perp", 6.72411381},
                    {"cylinder", "examples/control/cylinder.perp", 0.479250066},
                    {"turbo", "examples/control/turbo.perp", 11.8},
                    {"bounce", "examples/control/bounce.perp", 5.379771463},
                    {"two surfaces", "examples/control/surfaces.perp", 8.706835972},
                    {"flip", "examples/control/flip.perp", NAN},
                    {"hopper", "examples/control/hopper.perp", NAN},
                    {"swing-up", "examples/control/swing_up.perp", NAN}};
    print_head("other examples, as they are written");
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        perp_model *m = load(examples[i].file);
        perp_plan_options o = perp_plan_options_default(m);
        timed own, ipopt;
        solve(m, o, 3, 1, &own, &ipopt);
        print_line(examples[i].name, o.nodes, &own, &ipopt, examples[i].known);
        perp_model_destroy(m);
    }
}

/* One line of bench/plans.txt; 0: the end. */
static int next_name(FILE *list, char *name, size_t size)
{
    while (fgets(name, (int)size, list)) {
        name[strcspn(name, "\n")] = '\0';
        if (name[0] && name[0] != '#') return 1;
    }
    return 0;
}

/* The problems of bench/plans.txt, each from its own start alone and without a replay: how often this one is slower than 1.2 times IPOPT, and
 * the geometric mean of own over IPOPT's time, of those of which both find a plan. */
static void bench_list(void)
{
    char name[256];
    double sum = 0;
    int n = 0, both = 0, slower = 0, alone = 0, other_alone = 0;
    FILE *list = fopen("bench/plans.txt", "r");
    if (!list) {
        fprintf(stderr, "bench/plans.txt is missing (run from the source directory)\n");
        exit(1);
    }
    print_head("the list of bench/plans.txt, one start; 3 solves, IPOPT 1");
    for (; next_name(list, name, sizeof name); n++) {
        perp_model *m = load(name);
        perp_plan_options o = perp_plan_options_default(m);
        o.restarts = o.replay = 0;
        timed own, ipopt;
        solve(m, o, 3, 1, &own, &ipopt);
        const char *slash = strrchr(name, '/');
        print_line(slash ? slash + 1 : name, o.nodes, &own, &ipopt, NAN);
        int found = perp_plan_holds(own.result.outcome),
            other = ipopt.is_there && perp_plan_holds(ipopt.result.outcome);
        alone += found && !other;
        other_alone += other && !found;
        if (found && other) {
            double ratio = times_least(&own.time) / times_least(&ipopt.time);
            sum += log(ratio);
            slower += ratio > 1.2;
            both++;
        }
        perp_model_destroy(m);
    }
    fclose(list);
    printf("%d problems: both find a plan of %d, this one alone %d, IPOPT alone %d; own over "
           "IPOPT's time: geometric mean %.3f, "
           "over 1.2 in %d\n",
           n, both, alone, other_alone, both ? exp(sum / both) : (double)NAN, slower);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        bench_list();
        return 0;
    }
    bench_nodes();
    bench_starts();
    bench_examples();
    bench_list();
    return 0;
}
