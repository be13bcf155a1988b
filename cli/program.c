/* Programs in .nl files. A modelling language calls `perp STUB -AMPL key=value ..`, or the same
 * command by its name perp-ampl, with more keys in the environment's perp_options, and reads
 * STUB.sol. */

#include "program.h"

#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_is_program(const char *file)
{
    size_t length = strlen(file);
    return length > 3 && strcmp(file + length - 3, ".nl") == 0;
}

void solve_fill(answer *a, const perp_program *program, const perp_program_result *r)
{
    a->holds = a->has_error = perp_plan_holds(r->outcome);
    a->outcome = perp_program_word(program, r);
    a->method = r->method;
    a->z = perp_program_point(program);
    a->iterations = r->iterations;
    a->residual = a->holds ? r->error : (double)NAN;
    a->error = r->error;
    a->is_stationary = r->outcome == PERP_PLAN_GLOBAL || r->outcome <= PERP_PLAN_STATIONARY_B;
    a->has_objective = 1;
    a->objective = r->objective;
    a->rows = perp_program_conflicting_rows(program);
    a->bounds = perp_program_conflicting_bounds(program);
    a->ray = perp_program_ray(program);
    a->nrow = perp_program_get_size(program).rows;
}

static void put_proof(answer *a, const perp_program *program)
{
    perp_program_proof proof = perp_program_get_proof(program);
    if (proof.word == PERP_PROGRAM_PROOF_NONE) return; /* of what is unbounded */
    a->proof = perp_program_proof_word_name(proof.word);
    a->proof_text = perp_program_proof_word_summary(proof.word);
    a->bound = proof.bound;
    a->reach = proof.reach;
    a->sides = proof.sides;
}

int solve_program(const char *file, const char *sol, const perp_program_options *options,
                  output *out, perp_diag *diag)
{
    perp_program *program;
    perp_program_result r = {.size = sizeof r};
    double start = cli_now();
    perp_status status = perp_program_read(file, &program, diag);
    if (status == PERP_OK) status = perp_program_solve(program, options, &r, diag);
    if (status == PERP_OK) {
        answer a = {.name = file, .n = perp_program_get_size(program).variables};
        solve_fill(&a, program, &r);
        a.time_us = 1e6 * (cli_now() - start);
        if (options->global) put_proof(&a, program);
        solve_emit(out, &a, 0);
        if (sol) status = perp_program_write_sol(program, &r, sol, diag);
    }
    perp_program_destroy(program);
    return cli_exit_code(status);
}

/* As a modelling language's solver ------------------------------------------------------------- */

/* Was the command called by the name perp-ampl? */
static int is_named_ampl(const char *name)
{
    const char *slash = name ? strrchr(name, '/') : NULL;
    return name && strcmp(slash ? slash + 1 : name, "perp-ampl") == 0;
}

int cli_is_ampl(int argc, char **argv)
{
    return (argc > 0 && is_named_ampl(argv[0])) || (argc > 2 && strcmp(argv[2], "-AMPL") == 0);
}

typedef struct settings {
    perp_program_options program;
    int is_quiet;
} settings;

/* The keys, with the range of each. `wantsol` is what AMPL adds by itself; it is taken and means
 * nothing here, as `timing`. */
static const struct {
    const char *key;
    double least, most;
    int is_whole;
    const char *about;
} keys[] = {{"tol", 1e-15, 1e-2, 0, "every condition holds to this, on its own scale (1e-6)"},
            {"max_iter", 1, 1e9, 1, "iterations of a run of the search (1000)"},
            {"tries", 1, 1e6, 1, "starts from which the best point is kept (1)"},
            {"restarts", 0, 1e6, 1, "further starts while no point is stationary (3)"},
            {"seed", 0, 4e9, 1, "of the random starts (1)"},
            {"objno", 0, 1e6, 1, "which objective, from 1; 0: any feasible point (1)"},
            {"global", 0, 1, 1, "1: search all sides of the pairs, with a proof (0)"},
            {"outlev", 0, 1, 1, "0: print nothing (1)"},
            {"wantsol", 0, 15, 1, "of AMPL; without meaning here"},
            {"timing", 0, 3, 1, "of AMPL; without meaning here"}};
enum { TOL, MAX_ITER, TRIES, RESTARTS, SEED, OBJNO, GLOBAL, OUTLEV, WANTSOL, TIMING, NKEY };

static void put_key(settings *s, int key, double x)
{
    perp_program_options *o = &s->program;
    switch (key) {
    case TOL: o->tol = x; break;
    case MAX_ITER: o->max_iter = (int)x; break;
    case TRIES: o->tries = (int)x; break;
    case RESTARTS: o->restarts = (int)x; break;
    case SEED: o->seed = (unsigned)x; break;
    case OBJNO: o->objective = (int)x; break;
    case GLOBAL: o->global = x == 1; break;
    case OUTLEV: s->is_quiet = x == 0; break;
    default: break;
    }
}

/* One word key=value of length n. 0 after saying what is wrong. */
static int take_key(settings *s, const char *word, size_t n)
{
    const char *names[NKEY], *rest;
    char key[64], text[400];
    const char *equals = memchr(word, '=', n);
    size_t length = equals ? (size_t)(equals - word) : n;
    if (length >= sizeof key) length = sizeof key - 1;
    memcpy(key, word, length);
    key[length] = 0;
    for (int k = 0; k < NKEY; k++) {
        names[k] = keys[k].key;
        if (strcmp(key, keys[k].key) != 0) continue;
        double x = equals ? perp_number_read(equals + 1, &rest) : (double)NAN;
        int ok = equals && rest == word + n && x >= keys[k].least && x <= keys[k].most &&
                 (!keys[k].is_whole || x == floor(x));
        if (ok) put_key(s, k, x);
        if (!ok)
            cli_say("perp: '%.*s': %s needs a %snumber from %g to %g\n", (int)n, word, key,
                    keys[k].is_whole ? "whole " : "", keys[k].least, keys[k].most);
        return ok;
    }
    cli_say("perp: %s\n", perp_unknown_word("option", key, names, NKEY, NULL, text, sizeof text));
    return 0;
}

/* All words of a text, parted by blanks. */
static int take_keys(settings *s, const char *text)
{
    while (*text) {
        size_t blank = strspn(text, " \t\n"), n = strcspn(text + blank, " \t\n");
        if (n > 0 && !take_key(s, text + blank, n)) return 0;
        text += blank + n;
    }
    return 1;
}

static int print_ampl_help(void)
{
    printf("usage: perp-ampl STUB [-AMPL] [KEY=VALUE ..]\n\nSolve STUB.nl, which AMPL, Pyomo or "
           "JuMP wrote, and write "
           "STUB.sol (docs/programs.md).\nMore keys in the environment's perp_options; the words "
           "go before.\n\n");
    for (int k = 0; k < NKEY; k++) printf("  %-10s %s\n", keys[k].key, keys[k].about);
    return CLI_DONE;
}

/* What a solver is asked beside a stub: its version by -v, its keys by -= (as AMPL does) or --help.
 * Returns -1: neither. */
static int answer_question(const char *word)
{
    if (strcmp(word, "-v") == 0 || strcmp(word, "--version") == 0) {
        printf("perp %s\n", perp_version());
        return CLI_DONE;
    }
    if (strcmp(word, "-=") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        return print_ampl_help();
    if (word[0] != '-') return -1;
    cli_say("perp-ampl: '%s' has no meaning; -AMPL stands behind the stub\n", word);
    return CLI_USAGE;
}

int cli_ampl(int argc, char **argv)
{
    settings s = {.program = perp_program_options_default()};
    const char *stub = argc > 1 ? argv[1] : "--help", *given = getenv("perp_options");
    char path[CLI_PATH_ROOM];
    perp_program *program = NULL;
    perp_program_result r = {.size = sizeof r};
    perp_diag diag = {0};
    int answered = answer_question(stub);
    if (answered >= 0) return argc > 1 ? answered : CLI_USAGE;
    if (given && !take_keys(&s, given)) return CLI_USAGE;
    int has_flag = argc > 2 && strcmp(argv[2], "-AMPL") == 0;
    for (int i = has_flag ? 3 : 2; i < argc; i++)
        if (!take_key(&s, argv[i], strlen(argv[i]))) return CLI_USAGE;
    int length = (int)strlen(stub) - (cli_is_program(stub) ? 3 : 0);
    int fits = snprintf(path, sizeof path, "%.*s.sol", length, stub) < (int)sizeof path;
    if (!fits) {
        cli_say("perp: the name of the stub is too long\n");
        return CLI_FILE;
    }
    perp_status status = perp_program_read(stub, &program, &diag);
    if (status == PERP_OK) status = perp_program_solve(program, &s.program, &r, &diag);
    if (status == PERP_OK) status = perp_program_write_sol(program, &r, path, &diag);
    if (status == PERP_OK && !s.is_quiet)
        printf("perp %s: %s; objective %.10g\n", perp_version(), perp_program_word(program, &r),
               r.objective);
    cli_print_diag(&diag, stderr);
    perp_diag_clear(&diag);
    perp_program_destroy(program);
    return cli_exit_code(status);
}
