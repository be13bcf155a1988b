/* build/bench_jit REPEAT MODEL...: expressions as machine code beside the interpreter, in turn: CPU time of an evaluation of the rows and
 * their slopes, and of a step. By default of an arm of seven joints and of mechanisms (bench/scenes). */

#include "perp/perp.h"
#include "simulate/run.h"
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>

enum { OFF, ON, BOTH, EVALUATIONS = 2000 };

static void refuse(perp_diag *diag)
{
    fprintf(stderr, "%s", perp_diag_text(diag));
    exit(2);
}

static perp_simulation *create(const perp_model *model, int how)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(model);
    o.jit = how == ON ? PERP_JIT_ON : PERP_JIT_OFF;
    if (perp_simulation_create(model, &o, &sim, &diag) != PERP_OK) refuse(&diag);
    return sim;
}

/* Seconds of one evaluation; of one step. */
static void measure(perp_simulation *sim, double *tape, double *step)
{
    perp_diag diag = {0};
    double start = cpu_now();
    if (perp_simulation_run(sim, NULL, NULL, &diag) != PERP_OK) refuse(&diag);
    *step = (cpu_now() - start) / (double)perp_simulation_steps(sim);
    start = cpu_now();
    for (int i = 0; i < EVALUATIONS; i++) {
        perp__tape_eval(&sim->step.tape.check, sim->step.ws);
        perp__tape_eval(&sim->step.tape.coefficients, sim->step.ws);
    }
    *tape = (cpu_now() - start) / EVALUATIONS;
}

static void bench(const char *path, int repeat)
{
    perp_diag diag = {0};
    perp_model *model;
    times tape[BOTH] = {{0}}, step[BOTH] = {{0}};
    double making = 0;
    int size = 0;
    if (perp_model_load(path, &model, &diag) != PERP_OK) refuse(&diag);
    for (int r = 0; r < repeat; r++)
        for (int how = 0; how < BOTH; how++) {
            double start = wall_now(), each[2];
            perp_simulation *sim = create(model, how);
            if (r == 0) making = wall_now() - start;
            size = sim->step.tape.check.ncode + sim->step.tape.coefficients.ncode;
            measure(sim, &each[0], &each[1]);
            times_add(&tape[how], each[0]), times_add(&step[how], each[1]);
            perp_simulation_destroy(sim);
        }
    printf("%-36s %6d instructions, made in %.2f s: an evaluation %.2f -> %.2f us (%.3f), a step "
           "%.2f -> %.2f us (%.3f)\n",
           path, size, making, 1e6 * times_least(&tape[OFF]), 1e6 * times_least(&tape[ON]),
           times_least(&tape[ON]) / times_least(&tape[OFF]), 1e6 * times_least(&step[OFF]),
           1e6 * times_least(&step[ON]), times_least(&step[ON]) / times_least(&step[OFF]));
    perp_model_destroy(model);
}

int main(int argc, char **argv)
{
    static const char *const scenes[] = {"bench/scenes/arm7.perp", "bench/scenes/links20.perp",
                                         "bench/scenes/fourbar.perp", "bench/scenes/plate.perp"};
    int repeat = argc > 1 ? atoi(argv[1]) : 10;
    for (int i = 2; i < argc; i++) bench(argv[i], repeat);
    for (size_t i = 0; argc <= 2 && i < sizeof scenes / sizeof *scenes; i++)
        bench(scenes[i], repeat);
    return 0;
}
