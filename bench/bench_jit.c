/* build/bench_jit REPEAT MODEL...: expressions as machine code beside the interpreter, in turn: CPU time of an evaluation of the rows and
 * their slopes, and of a step. By default of an arm of seven joints and of mechanisms (bench/scenes). "One by one": the same instructions by an
 * interpreter that takes each alone, in the order in which they need each other, as the one of 22 November 2026 did, before runs. */

#include "perp/perp.h"
#include "simulate/run.h"
#include "timing.h"
#include "../tests/support/outcomes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OFF, ON, BOTH, EVALUATIONS = 2000 };

/* One by one ------------------------------------------------------------------------------------ */

/* The instructions of a tape, each after what it needs, the way a graph has them. */
typedef struct chain {
    perp__instruction *code;
    int n, first;
} chain;

/* slot: where the values of the tape, and of those before it, are now. */
static void append(chain *c, const perp__tape *tape, int *slot, int i)
{
    if (i < 0 || slot[c->first + i] >= 0) return;
    append(c, tape, slot, tape->code[i].a - c->first);
    append(c, tape, slot, tape->code[i].b - c->first);
    slot[c->first + i] = c->first + c->n;
    c->code[c->n++] =
        (perp__instruction){tape->code[i].op, slot[tape->code[i].a], slot[tape->code[i].b], 1};
}

static chain chain_of(const perp__tape *tape, int *slot)
{
    chain c = {malloc(((size_t)tape->ncode + 1) * sizeof *c.code), 0, tape->first + tape->nconst};
    if (!c.code) exit(2);
    for (int i = 0; i < tape->ncode; i++) slot[c.first + i] = -1;
    for (int k = 0; k < tape->nout; k++) append(&c, tape, slot, tape->out[k] - c.first);
    for (int i = 0; i < tape->ncode; i++) append(&c, tape, slot, i);
    return c;
}

static void one_by_one(const chain *c, double *ws)
{
    const perp__instruction *code = c->code, *end = code + c->n;
    double *result = ws + c->first;
    for (; code < end; code++, result++) {
        double a = ws[code->a], b = ws[code->b];
        switch (code->op) { /* the five that fill most tapes first */
        case PERP__ADD: *result = a + b; break;
        case PERP__SUB: *result = a - b; break;
        case PERP__MUL: *result = a * b; break;
        case PERP__DIV: *result = a / b; break;
        case PERP__NEG: *result = -a; break;
        default: *result = perp__apply(code->op, a, b);
        }
    }
}

/* Seconds of one evaluation so. */
static double measure_one_by_one(const perp_simulation *sim)
{
    const perp__step *s = &sim->step;
    size_t n = (size_t)perp__tape_end(&s->layout->tape.outputs);
    int *slot = malloc(n * sizeof *slot);
    double *ws = malloc(n * sizeof *ws);
    if (!slot || !ws) exit(2);
    memcpy(ws, s->ws, n * sizeof *ws);
    for (size_t i = 0; i < n; i++) slot[i] = (int)i;
    chain check = chain_of(&s->layout->tape.check, slot),
          slopes = chain_of(&s->layout->tape.coefficients, slot);
    double start = cpu_now();
    for (int i = 0; i < EVALUATIONS; i++) one_by_one(&check, ws), one_by_one(&slopes, ws);
    double seconds = (cpu_now() - start) / EVALUATIONS;
    for (int k = 0; k < s->layout->tape.check.nout; k++) { /* it computes the same */
        double x = ws[slot[s->layout->tape.check.out[k]]], y = s->ws[s->layout->tape.check.out[k]];
        if (memcmp(&x, &y, sizeof x) != 0) exit(3);
    }
    free(slot), free(ws), free(check.code), free(slopes.code);
    return seconds;
}

/* Models ---------------------------------------------------------------------------------------- */

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
    if (simulation_run(sim, NULL, NULL, &diag) != PERP_OK) refuse(&diag);
    *step = (cpu_now() - start) / (double)perp_simulation_steps(sim);
    start = cpu_now();
    for (int i = 0; i < EVALUATIONS; i++) {
        perp__tape_eval(&sim->step.layout->tape.check, sim->step.ws);
        perp__tape_eval(&sim->step.layout->tape.coefficients, sim->step.ws);
    }
    *tape = (cpu_now() - start) / EVALUATIONS;
}

static void bench(const char *path, int repeat)
{
    perp_diag diag = {0};
    perp_model *model;
    times tape[BOTH] = {{0}}, step[BOTH] = {{0}}, plain = {0};
    double making = 0;
    int size = 0;
    if (perp_model_load(path, &model, &diag) != PERP_OK) refuse(&diag);
    for (int r = 0; r < repeat; r++)
        for (int how = 0; how < BOTH; how++) {
            double start = wall_now(), each[2];
            perp_simulation *sim = create(model, how);
            if (r == 0) making = wall_now() - start;
            size = sim->step.layout->tape.check.ncode + sim->step.layout->tape.coefficients.ncode;
            measure(sim, &each[0], &each[1]);
            times_add(&tape[how], each[0]), times_add(&step[how], each[1]);
            if (how == OFF) times_add(&plain, measure_one_by_one(sim));
            perp_simulation_destroy(sim);
        }
    double on = times_least(&tape[ON]), alone = times_least(&plain);
    printf(
        "%-36s %6d instructions, made in %.2f s: an evaluation %.2f -> %.2f us (%.3f), one by one "
        "%.2f (%.3f); a step %.2f -> %.2f us (%.3f)\n",
        path, size, making, 1e6 * times_least(&tape[OFF]), 1e6 * on, on / times_least(&tape[OFF]),
        1e6 * alone, on / alone, 1e6 * times_least(&step[OFF]), 1e6 * times_least(&step[ON]),
        times_least(&step[ON]) / times_least(&step[OFF]));
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
