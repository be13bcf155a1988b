/* The texts of a model in C: a header, a source of statements and tables before what all models
 * share (code/step.c), and a program. */

#include "export/code.h"
#include "model/emit.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tapes in the order in which they are evaluated; functions tape0b and so on. */
enum { VARIED, INPUTS, CHECK, ROWS, GUARDS, OUTPUTS, INITIAL, TAPES };

typedef struct writer {
    perp__code *c;
    perp__text *to, constants; /* constants that are roots: "place, value" */
    perp__emit_style style;
    const perp__tape *tape[TAPES];
    perp__tape inputs; /* those functions of time that inputs are, at the end of a step alone */
    int *slot;         /* scratch: places to be written as a table */
    perp__text pairs,
        plain; /* of code in floats: what take_gaps is, and what it has no pairs for */
    int nsharp, nconstant;
    double *constant; /* values; places in slot order of constant_place */
    int *constant_place;
} writer;

/* Text with the model's name for @, in capitals for $. */
static void put(const writer *w, const char *text)
{
    const char *name = w->c->name;
    for (const char *p = text; *p; p++) {
        size_t n = strcspn(p, "@$");
        perp__text_bytes(w->to, p, n);
        p += n;
        if (!*p) break;
        if (*p == '@') perp__text_put(w->to, name);
        for (const char *q = name; *p == '$' && *q; q++)
            perp__text_format(w->to, "%c", toupper((unsigned char)*q));
    }
}

/* A string of C, without trigraphs. */
static void put_string(const writer *w, const char *string)
{
    perp__text_put(w->to, "\"");
    for (const char *p = string; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c < ' ' || c > '~' || strchr("\"\\?", c))
            perp__text_format(w->to, "\\%03o", c);
        else
            perp__text_format(w->to, "%c", c);
    }
    perp__text_put(w->to, "\"");
}

static int at_least_one(int n)
{
    return n > 1 ? n : 1;
}

/* Tables --------------------------------------------------------------------------------------- */

static void begin_table(const writer *w, const char *type, const char *name, int n)
{
    perp__text_format(w->to, "static const %s %s[%d] = {", type, name, at_least_one(n));
    if (n == 0) perp__text_put(w->to, "0");
}

static void put_places(const writer *w, const char *name, const int *x, int n)
{
    begin_table(w, "place", name, n);
    for (int i = 0; i < n; i++) perp__text_format(w->to, i % 20 ? " %d," : "\n    %d,", x[i]);
    perp__text_put(w->to, "};\n");
}

static void put_chars(const writer *w, const char *name, const char *x, int n)
{
    begin_table(w, "signed char", name, n);
    for (int i = 0; i < n; i++) perp__text_format(w->to, i % 30 ? " %d," : "\n    %d,", x[i]);
    perp__text_put(w->to, "};\n");
}

static void put_numbers(const writer *w, const char *name, const double *x, int n)
{
    begin_table(w, "real", name, n);
    for (int i = 0; i < n; i++) {
        perp__text_put(w->to, i % 6 ? " " : "\n    ");
        perp__emit_number(w->to, x[i]);
        perp__text_put(w->to, ",");
    }
    perp__text_put(w->to, "};\n");
}

/* The place of a root, which may be a constant of its tape. */
static int place_of(writer *w, int tape, int slot)
{
    const perp__tape *t = w->tape[tape];
    int *place = &w->style.place[slot], k = slot - t->first;
    if (*place < 0)
        *place = w->style.nplace++;
    else
        return *place;
    if (k >= 0 && k < t->nconst) {
        w->constant_place[w->nconstant] = *place;
        w->constant[w->nconstant++] = t->constant[k];
    }
    return *place;
}

/* Places of roots first, first + stride, .. of a tape. */
static void put_roots(writer *w, const char *name, int tape, int first, int n, int stride)
{
    for (int i = 0; i < n; i++)
        w->slot[i] = place_of(w, tape, w->tape[tape]->out[first + i * stride]);
    put_places(w, name, w->slot, n);
}

/* Rows whose c is not the same finite constant in all steps. */
static void put_changing(writer *w)
{
    const perp__step *s = &w->c->sim->step;
    const perp__tape *t = w->tape[ROWS];
    int n = 0;
    for (int r = 0; r < s->layout->nrow; r++) {
        int k = t->out[r] - t->first;
        if (s->layout->nonlinear || k < 0 || k >= t->nconst || !isfinite(t->constant[k]))
            w->slot[n++] = r;
    }
    put_places(w, "changing", w->slot, n);
    perp__text_format(w->to, "enum { NCHANGING = %d };\n", n);
}

/* Rows, and what each begins as. */
static void put_rows(writer *w)
{
    const perp__step *s = &w->c->sim->step;
    int nonzeros = s->layout->row_start[s->layout->nrow];
    put_places(w, "row_start", s->layout->row_start, s->layout->nrow + 1);
    put_places(w, "column", s->layout->column, nonzeros);
    put_places(w, "entry", s->layout->entry, s->layout->nentry);
    put_roots(w, "entry_at", ROWS, s->layout->nrow, s->layout->nentry, 1);
    put_roots(w, "row_at", ROWS, 0, s->layout->nrow, 1);
    put_changing(w);
    put_places(w, "varied", s->layout->sym.varied.entry, s->layout->sym.varied.nentry);
    put_roots(w, "varied_at", VARIED, 0, s->layout->sym.varied.nentry, 1);
    double *value = malloc(((size_t)nonzeros + 1) * sizeof *value);
    if (!value) {
        w->to->failed = 1;
        return;
    }
    memcpy(value, s->state.slopes.value, (size_t)nonzeros * sizeof *value);
    for (int k = 0; k < s->layout->nentry; k++) value[s->layout->entry[k]] = 0;
    for (int k = 0; k < s->layout->sym.varied.nentry; k++)
        value[s->layout->sym.varied.entry[k]] = 0;
    put_numbers(w, "value_of", value, nonzeros);
    free(value);
}

/* v[..] of a pair from the roots a, b, and of a two-sided one lo, hi. p: its place among those of
 * the step. */
static void put_values_of_pair(writer *w, int p, const int *root, int two_sided, int has_guard)
{
    const perp__rows *pair = w->c->sim->step.layout->pair + p;
    int at[4];
    char on[40] = "";
    for (int k = 0; k < (two_sided ? 4 : 2); k++) at[k] = place_of(w, CHECK, root[k]);
    if (!two_sided) {
        perp__text_format(w->to, "    v[%d] = w[%d], v[%d] = w[%d];\n", pair->a, at[0], pair->b,
                          at[1]);
        return;
    }
    if (has_guard) snprintf(on, sizeof on, " && s->on[%d]", p);
    perp__text_format(w->to, "    v[%d] = w[%d] - w[%d], v[%d] = w[%d];\n", pair->a, at[0], at[2],
                      pair->off, at[0]);
    perp__text_format(w->to, "    v[%d] = w[%d] < 0%s ? 0 : w[%d];\n", pair->b, at[1], on, at[1]);
    perp__text_format(w->to, "    v[%d] = w[%d] < 0%s ? -w[%d] : 0, v[%d] = w[%d] - w[%d];\n",
                      pair[1].a, at[1], on, at[1], pair[1].b, at[3], at[0]);
}

/* Conditions as they were written, from roots of the check's tape. The slacks of a two-sided pair
 * are what these make them. */
static void put_conditions(writer *w)
{
    const perp__step *s = &w->c->sim->step;
    const perp_model *m = s->model;
    const int *root = s->layout->tape.check.out;
    put_chars(w, "has_h", s->layout->marks.has_h, s->layout->nown);
    put_roots(w, "assigned_at", CHECK, s->layout->sym.assigned.root, s->layout->sym.assigned.n, 1);
    perp__text_put(w->to, "\nstatic void put_values(work *s, const real *w)\n{\n"
                          "    real *v = s->value;\n    (void)w;\n");
    for (int i = 0; i < s->layout->nown; i++, root += 2) {
        int left = place_of(w, CHECK, root[0]), right = place_of(w, CHECK, root[1]);
        perp__text_format(w->to,
                          s->layout->marks.has_h[i] ? "    v[%d] = w[W_H] * (w[%d] - w[%d]);\n"
                                                    : "    v[%d] = w[%d] - w[%d];\n",
                          i, left, right);
    }
    for (int i = s->layout->nown; i < s->layout->nequation; i++)
        perp__text_format(w->to, "    v[%d] = 0;\n", i);
    for (int i = 0, p = 0; i < m->npair; i++, p++) {
        int two = m->pair[i].two_sided;
        put_values_of_pair(w, p, root, two, s->layout->tape.guard_of[i] >= 0);
        root += two ? 4 : 2;
        p += two != 0;
    }
    perp__text_put(w->to, "}\n\n");
}

static void put_pairs(writer *w)
{
    const perp__step *s = &w->c->sim->step;
    const perp_model *m = s->model;
    int n = 0;
    for (int p = 0; p < s->layout->np; p++) w->slot[p] = s->layout->pair[p].a;
    put_places(w, "pair_a", w->slot, s->layout->np);
    for (int p = 0; p < s->layout->np; p++) w->slot[p] = s->layout->pair[p].b;
    put_places(w, "pair_b", w->slot, s->layout->np);
    for (int p = 0; p < s->layout->np; p++) w->slot[p] = s->layout->pair[p].off;
    put_places(w, "pair_off", w->slot, s->layout->np);
    put_chars(w, "side", w->c->side, s->layout->np);
    for (int p = 0; p < s->layout->np; p++) {
        int g = s->layout->tape.guard_of[s->layout->pair[p].of];
        w->slot[p] = g < 0 ? -1 : place_of(w, GUARDS, s->layout->tape.guards.out[g]);
    }
    put_places(w, "guard_at", w->slot, s->layout->np);
    perp__text_format(w->to, "enum { HAS_GUARDS = %d };\n", s->layout->tape.guards.nout > 0);
    for (int i = 0, root = 2 * s->layout->nown; i < m->npair; i++) {
        int force = root + (s->layout->gaps.side[i] == 1);
        if (s->layout->gaps.side[i])
            w->slot[n++] = place_of(w, CHECK, s->layout->tape.check.out[force]);
        root += m->pair[i].two_sided ? 4 : 2;
    }
    put_places(w, "gap_force_at", w->slot, n);
    perp__text_format(w->to, "enum { NGAP = %d };\n", n);
}

/* Where unknowns get the sizes from that they are judged by, and units. */
static void put_sizes(writer *w)
{
    perp__step *s = &w->c->sim->step;
    const perp__marks *m = &s->layout->marks;
    double *x = malloc(((size_t)s->layout->ny + (size_t)s->layout->nrow) * sizeof *x + 1);
    int n = 0;
    if (!x) {
        w->to->failed = 1;
        return;
    }
    for (int d = 0; d < m->ndefined; d++)
        if (m->defined_at[m->definition[d]] >= 0) w->slot[n++] = m->definition[d];
    put_places(w, "defined_row", w->slot, n);
    for (int d = 0; d < n; d++) w->slot[d] = m->defined_at[w->slot[d]];
    put_places(w, "defined_at", w->slot, n);
    put_places(w, "rate_row", m->rate.row, m->rate.n);
    put_places(w, "rate_at", m->rate.at, m->rate.n);
    put_places(w, "force_row", m->force.row, m->force.n);
    put_places(w, "force_at", m->force.at, m->force.n);
    perp__text_format(w->to, "enum { NDEFINED = %d, NRATE = %d, NFORCE = %d };\n", n, m->rate.n,
                      m->force.n);
    put_chars(w, "is_side", m->is_side, s->layout->ny);
    put_numbers(w, "declared", s->layout->declared, s->layout->ny);
    for (int i = 0; i < s->layout->ny + s->layout->nrow;
         i++) /* what a float can be multiplied by */
        x[i] = fmin(fmax(perp__step_units(s)[i], ldexp(1, -60)), ldexp(1, 60));
    put_numbers(w, "unit", x, s->layout->ny);
    put_numbers(w, "factor", x + s->layout->ny, s->layout->nrow);
    put_numbers(w, "first_y", w->c->first, s->layout->ny);
    free(x);
}

static void put_inputs(writer *w)
{
    const perp__step *s = &w->c->sim->step;
    int n = s->layout->table.n;
    perp__text_put(
        w->to,
        "typedef struct table {\n    const real *time, *value;\n    int n;\n} table_of_input;\n");
    for (int k = 0; k < n; k++) {
        const perp__table *table = &s->model->item[PERP_INPUT][s->layout->table.input[k]].table;
        char name[32];
        if (table->n == 0) continue;
        snprintf(name, sizeof name, "time_%d", k);
        put_numbers(w, name, table->time, table->n);
        snprintf(name, sizeof name, "value_%d", k);
        put_numbers(w, name, table->value, table->n);
    }
    perp__text_format(w->to, "static const table_of_input table[%d] = {\n", n > 0 ? n : 1);
    for (int k = 0; k < n; k++) {
        int rows = s->model->item[PERP_INPUT][s->layout->table.input[k]].table.n;
        perp__text_format(w->to, rows ? "    {time_%d, value_%d, %d},\n" : "    {0, 0, 0},\n", k, k,
                          rows);
    }
    perp__text_put(w->to, n ? "};\n" : "    {0, 0, 0}};\n");
    for (int k = 0, root = 0; k < n; k++)
        w->slot[k] =
            s->layout->table.formula[k] < 0 ? -1 : place_of(w, INPUTS, w->inputs.out[root++]);
    put_places(w, "formula_at", w->slot, n);
}

/* Columns of a row but the last, the residual: time, states, vars, inputs and outputs. */
static void put_columns(writer *w)
{
    const perp__step *s = &w->c->sim->step;
    int n = 0;
    w->slot[n++] = SYM_T;
    for (int i = 0; i < s->layout->nx; i++) w->slot[n++] = s->layout->sym.y + i;
    for (int v = 0; v < s->model->nvar; v++)
        w->slot[n++] = s->layout->sym.y + s->layout->sym.var_at[v];
    for (int i = 0; i < s->layout->tape.outputs.nout; i++)
        w->slot[n++] = place_of(w, OUTPUTS, s->layout->tape.outputs.out[i]);
    put_places(w, "column_at", w->slot, n);
    put_roots(w, "initial_at", INITIAL, 0, s->layout->nx, 1);
    perp__text_format(w->to, "static const char *const column_name[%d] = {", w->c->sim->ncolumn);
    for (int i = 0; i < w->c->sim->ncolumn; i++) {
        perp__text_put(w->to, "\n    ");
        put_string(w, w->c->sim->column_name[i]);
        perp__text_put(w->to, ",");
    }
    perp__text_put(w->to, "};\n");
}

static void put_parameters(writer *w)
{
    const perp__varied *v = &w->c->sim->step.layout->sym.varied;
    double *x = malloc(((size_t)v->n + 1) * sizeof *x);
    for (int k = 0; x && k < v->n; k++) x[k] = w->c->model->item[PERP_PARAM][v->param[k]].value;
    if (x)
        put_numbers(w, "parameter", x, v->n);
    else
        w->to->failed = 1;
    free(x);
}

/* Header --------------------------------------------------------------------------------------- */

/* enum { $_KIND_name, .., $_KINDS }; plural: behind the last. */
static void put_names(const writer *w, const char *kind, const char *tag, const char *plural,
                      const char *const *name, int n)
{
    char *names = perp__code_names(name, n);
    const char *p = names;
    if (!names) {
        w->to->failed = 1;
        return;
    }
    put(w, "\nenum @_");
    perp__text_format(w->to, "%s {\n", tag);
    for (int i = 0; i < n; i++, p += strlen(p) + 1) {
        put(w, "    $_");
        perp__text_format(w->to, "%s_%s,\n", kind, p);
    }
    put(w, "    $_");
    perp__text_format(w->to, "%s\n};\n", plural);
    free(names);
}

static void put_enums(const writer *w)
{
    const perp__step *s = &w->c->sim->step;
    const perp_model *m = s->model;
    int ncolumn = w->c->sim->ncolumn,
        most = s->layout->sym.varied.n + s->layout->table.n + s->layout->nx + 1;
    const char **name = malloc((size_t)most * sizeof *name);
    if (!name) {
        w->to->failed = 1;
        return;
    }
    for (int k = 0; k < s->layout->sym.varied.n; k++)
        name[k] = m->item[PERP_PARAM][s->layout->sym.varied.param[k]].name;
    put_names(w, "PARAM", "param", "PARAMS", name, s->layout->sym.varied.n);
    for (int k = 0; k < s->layout->table.n; k++)
        name[k] = m->item[PERP_INPUT][s->layout->table.input[k]].name;
    put_names(w, "INPUT", "input", "INPUTS", name, s->layout->table.n);
    for (int i = 0; i < s->layout->nx; i++) name[i] = m->item[PERP_STATE][i].name;
    put_names(w, "STATE", "state", "STATES", name, s->layout->nx);
    put_names(w, "COLUMN", "column", "COLUMNS", w->c->sim->column_name, ncolumn);
    free(name);
}

/* A member of the struct; n < 0: no array. */
typedef struct member {
    const char *type, *name;
    int n;
} member;

static int list_members(const writer *w, member *list)
{
    const perp__step *s = &w->c->sim->step;
    int ny = s->layout->ny, np = s->layout->np, n = s->layout->table.n, symbols = s->layout->sym.n;
    const member all[] = {{"@_real", "w", w->style.nplace},
                          {"@_real", "a", s->layout->row_start[s->layout->nrow]},
                          {"@_real", "c", s->layout->nrow},
                          {"@_real", "value", s->layout->nrow},
                          {"@_real", "inverse", ny * ny},
                          {"@_real", "rhs", ny},
                          {"@_real", "sum", ny},
                          {"@_real", "own", ny},
                          {"@_real", "least", ny},
                          {"@_real", "other", ny},
                          {"@_real", "base", s->layout->nonlinear || w->nsharp ? ny : 1},
                          {"@_real", "full", ny},
                          {"@_real", "largest", s->layout->nx},
                          {"@_real", "lost", s->layout->nx},
                          {"@_real", "lost_before", s->layout->nx},
                          {"@_real", "early", w->nsharp ? s->layout->nx : 1},
                          {"@_real", "tableau", np * (2 * np + 2)},
                          {"@_real", "column_scale", np},
                          {"@_real", "z", np},
                          {"@_real", "held", n},
                          {"@_real", "from", n},
                          {"@_real", "before", symbols},
                          {"@_real", "start_of_part", symbols},
                          {"@_real", "beginning", s->layout->gaps.n ? symbols : 1},
                          {"@_real", "begin", -1},
                          {"@_real", "end", -1},
                          {"@_real", "residual", -1},
                          {"long", "steps", -1},
                          {"@_place", "row", ny},
                          {"@_place", "unknown_of", ny},
                          {"@_place", "row_of", ny},
                          {"@_place", "order_row", ny},
                          {"@_place", "order_at", ny},
                          {"@_place", "active", np},
                          {"@_place", "basic", np},
                          {"int", "holds", -1},
                          {"int", "is_singular", -1},
                          {"int", "norder", -1},
                          {"int", "is_triangular", -1},
                          {"int", "closed", -1},
                          {"int", "moves", -1},
                          {"int", "pivots", -1},
                          {"signed char", "known", ny},
                          {"signed char", "is_taken", ny},
                          {"signed char", "on", np},
                          {"signed char", "was_on", np},
                          {"signed char", "choice", np},
                          {"signed char", "key", np}};
    memcpy(list, all, sizeof all);
    return (int)(sizeof all / sizeof *all);
}

/* How many bytes they take, with padding. */
static size_t bytes_of(const member *list, int n, size_t real)
{
    size_t bytes = 0, most = real > sizeof(long) ? real : sizeof(long);
    for (int i = 0; i < n; i++) {
        size_t one = sizeof(int);
        if (strcmp(list[i].type, "@_real") == 0)
            one = real;
        else if (strcmp(list[i].type, "long") == 0)
            one = sizeof(long);
        else if (strcmp(list[i].type, "signed char") == 0)
            one = 1;
        bytes = (bytes + one - 1) / one * one + one * (size_t)at_least_one(list[i].n);
    }
    return (bytes + most - 1) / most * most;
}

static void put_struct(const writer *w)
{
    member list[64];
    int n = list_members(w, list);
    w->c->info.bytes = bytes_of(list, n, sizeof(double));
    w->c->info.bytes_float = bytes_of(list, n, sizeof(float));
    put(w, "\n/* One instance, all memory that it takes; its members are the source's own. "
           "*/\ntypedef int @_place;\n"
           "typedef struct @_model {\n");
    for (int i = 0; i < n; i++) {
        put(w, "    ");
        put(w, list[i].type);
        if (list[i].n < 0)
            perp__text_format(w->to, " %s;\n", list[i].name);
        else
            perp__text_format(w->to, " %s[%d];\n", list[i].name, at_least_one(list[i].n));
    }
    put(w, "} @_model;\n");
}

static void put_header(const writer *w)
{
    const perp__step *s = &w->c->sim->step;
    put(w, "/* A model made by perp ");
    perp__text_format(w->to, "%s: method %s, step %.17g s.\n", perp_version(),
                      perp_integrator_name(w->c->o.integrator), w->c->o.step);
    put(w, " *\n"
           " *     static @_model model;\n"
           " *     @_init(&model, 0);\n"
           " *     while (@_step(&model) == $_SOLVED) use(@_column(&model, ..));\n"
           " *\n"
           " * Nothing is allocated, and nothing but libm is called. Instances may be used side by "
           "side by several threads. With $_FLOAT defined, here and for\n"
           " * the source, numbers are floats");
    if (w->nsharp)
        perp__text_format(w->to,
                          ", and %d condition%s made of positions %s evaluated in pairs of them",
                          w->nsharp, w->nsharp > 1 ? "s" : "", w->nsharp > 1 ? "are" : "is");
    put(w, ".");
    if (w->plain.length)
        perp__text_format(w->to,
                          " In line %s a function of positions has no such\n * pair: there "
                          "floats leave an error of some 1e-7, which over a step is a velocity.",
                          w->plain.at);
    put(w, " Not for -ffast-math. */\n\n"
           "#ifndef $_H\n#define $_H\n\n"
           "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
           "#ifdef $_FLOAT\ntypedef float @_real;\n#else\ntypedef double @_real;\n#endif\n\n"
           "/* What became of a step. In all but the first case the instance is as it was before "
           "it. */\n"
           "typedef enum @_outcome {\n"
           "    $_SOLVED,      /* and verified: each condition, as it was written, holds on its "
           "own scale */\n"
           "    $_NO_SOLUTION, /* Lemke's method ended on a ray */\n"
           "    $_LIMIT,       /* so many pivots or iterations do not suffice */\n"
           "    $_SINGULAR,    /* the equations do not determine the step */\n"
           "    $_UNVERIFIED,  /* there was an answer, and a condition does not hold */\n"
           "    $_BAD_NUMBER   /* a condition has no finite value: an input without one, a "
           "division by 0 */\n"
           "} @_outcome;\n\n");
    int parts = s->layout->nonlinear ? 1024 : 1, iterations = s->layout->nonlinear ? 50 : 1;
    put(w, "enum {\n    $_MOST_PIVOTS = ");
    perp__text_format(
        w->to, "%d, /* of a complementarity problem, of %d pairs; it is solved up to 4 times */\n",
        w->c->info.pivots, s->layout->np);
    put(w, "    $_MOST_ITERATIONS = ");
    perp__text_format(w->to, "%d, /* complementarity problems of a step, */\n", iterations);
    put(w, "    $_MOST_PARTS = ");
    perp__text_format(w->to, "%d /* or of each part, where a step must be taken in parts */\n};\n",
                      parts);
    put_enums(w);
    put_struct(w);
    put(w, "\n/* What the parameters are in the model, $_PARAMS of them. */\n"
           "void @_parameters(@_real *param);\n\n"
           "/* At the beginning. param: $_PARAMS values, 0 for those of the model; copied. */\n"
           "void @_init(@_model *model, const @_real *param);\n\n"
           "/* One step. */\n"
           "@_outcome @_step(@_model *model);\n\n"
           "/* From the next step on; in a step it goes there in a line. Inputs that were never "
           "set are what the model says. */\n"
           "void @_set_input(@_model *model, enum @_input input, @_real value);\n\n"
           "void @_set_state(@_model *model, enum @_state state, @_real value);\n\n"
           "/* A column of the row that perp simulate writes; those that the first step makes have "
           "none before it (NaN). Their names, and how many complementarity\n"
           " * pivots the last step took. */\n"
           "@_real @_column(const @_model *model, enum @_column column);\n"
           "const char *@_column_name(enum @_column column);\n"
           "int @_pivots(const @_model *model);\n\n"
           "#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

/* Source --------------------------------------------------------------------------------------- */

static void put_sizes_of_problem(const writer *w)
{
    const perp__step *s = &w->c->sim->step;
    const perp__code *c = w->c;
    const struct {
        const char *name;
        int value;
    } list[] = {{"NX", s->layout->nx},
                {"NY", s->layout->ny},
                {"NROW", s->layout->nrow},
                {"NOWN", s->layout->nown},
                {"NEQUATION", s->layout->nequation},
                {"NP", s->layout->np},
                {"NNONZERO", s->layout->row_start[s->layout->nrow]},
                {"NENTRY", s->layout->nentry},
                {"NVARIED", s->layout->sym.varied.nentry},
                {"NASSIGNED", s->layout->sym.assigned.n},
                {"NINPUT", s->layout->table.n},
                {"NPARAM", s->layout->sym.varied.n},
                {"NSYMBOL", s->layout->sym.n},
                {"NCOLUMN", c->sim->ncolumn},
                {"TABLEAU", 2 * s->layout->np + 2},
                {"NONLINEAR", s->layout->nonlinear},
                {"HAS_HALVES", perp__step_has_halves(s)},
                {"W_T", SYM_T},
                {"W_T_PRE", SYM_T_PRE},
                {"W_H", SYM_H},
                {"W_THETA", SYM_THETA},
                {"W_PRE", s->layout->sym.pre},
                {"W_TABLE", s->layout->sym.table},
                {"W_TABLE_PRE", s->layout->sym.table_pre},
                {"W_Y", s->layout->sym.y},
                {"W_PARAM", perp__step_parameter(s->layout, 0)}};
    perp__text_put(w->to, "enum {\n");
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        perp__text_format(w->to, "    %s = %d,\n", list[i].name, list[i].value);
    put(w, "    MOST_PIVOTS = $_MOST_PIVOTS,\n    MOST_ITERATIONS = $_MOST_ITERATIONS,\n"
           "    SOLVED = $_SOLVED,\n    NO_SOLUTION = $_NO_SOLUTION,\n    LIMIT = $_LIMIT,\n"
           "    SINGULAR = $_SINGULAR,\n    UNVERIFIED = $_UNVERIFIED,\n    BAD_NUMBER = "
           "$_BAD_NUMBER\n};\n\n");
}

static void put_begin(const writer *w)
{
    const perp__code *c = w->c;
    put(w, "/* Made by perp, with @.h. */\n\n#include \"@.h\"\n\n#include <math.h>\n\n"
           "#ifdef __FAST_MATH__\n#error \"compile without -ffast-math: verdicts ask whether a "
           "number is one\"\n#endif\n\n"
           "typedef @_real real;\ntypedef @_model work;\ntypedef @_place place;\n\n"
           "#define R(x) ((real)(x))\n"
           "#ifdef $_FLOAT\n#define MATH(name) name##f\n"
           "#define EPSILON R(1.1920929e-7)\n#define COMPENSATES 1\n#define TOL ");
    perp__emit_number(w->to, fmax(c->o.tol, 1e-4));
    put(w, "\n#define TOL_KEPT R(1e-6)\n#define SINGULAR_BELOW R(1e-6)\n#define LEAST_PIVOT "
           "R(1e-20)\n#define TIED "
           "R(1e-5)\n#define PIVOT_ABOVE R(1e-5)\n"
           "#else\n#define MATH(name) name\n#define EPSILON R(2.220446049250313e-16)\n#define "
           "COMPENSATES 0\n#define TOL ");
    perp__emit_number(w->to, c->o.tol);
    put(w, "\n#define TOL_KEPT R(1e-13)\n#define SINGULAR_BELOW R(1e-13)\n#define LEAST_PIVOT "
           "SINGULAR_BELOW\n"
           "#define TIED R(1e-11)\n#define PIVOT_ABOVE R(1e-12)\n"
           "#endif\n#define ROUNDING (2 * EPSILON)\n#define STEP ");
    perp__emit_number(w->to, c->o.step);
    put(w, "\n#define START ");
    perp__emit_number(w->to, c->o.from);
    put(w, "\n#define THETA ");
    perp__emit_number(w->to, c->sim->step.layout->scheme.theta);
    put(w, "\n\n/* What the inverse is of: nothing, the zero sides, or the sides that are "
           "eliminated to. */\n"
           "enum { NOTHING, MODE, SIDES };\n\n");
}

/* Which tape is evaluated for what. An empty part before a cut is not written. */
static void put_calls(const writer *w, int cut)
{
    static const char *const name[TAPES] = {"PARAMETERS", "INPUTS",  "CONDITIONS", "SLOPES",
                                            "GUARDS",     "OUTPUTS", "INITIAL"};
    for (int k = 0; k < TAPES; k++)
        perp__text_format(w->to, "#define COMMON_%s(w) tape%db(w)\n", name[k], k);
    perp__text_format(w->to,
                      cut ? "#define COMMON_ROWS(w) tape%da(w)\n\n"
                          : "#define COMMON_ROWS(w) (void)(w)\n\n",
                      ROWS);
}

/* Those of code in floats; else none. */
static void put_pairs_of_floats(const writer *w)
{
    if (w->nsharp) {
        put(w, "#ifdef $_FLOAT\n");
        perp__text_format(w->to, "#define NSHARP %d\n", w->nsharp);
        perp__text_bytes(w->to, w->pairs.at, w->pairs.length);
        put(w, "#else\n");
    }
    put(w, "#define NSHARP 0\n\nstatic void take_gaps(work *s)\n{\n    (void)s;\n}\n");
    put(w, w->nsharp ? "#endif\n\n" : "\n");
}

static void put_functions(const writer *w)
{
    put(w,
        "\nvoid @_parameters(@_real *param)\n{\n    for (int k = 0; k < NPARAM; k++) param[k] = "
        "parameter[k];\n}\n\n"
        "void @_init(@_model *model, const @_real *param)\n{\n    begin(model, param);\n}\n\n"
        "@_outcome @_step(@_model *model)\n{\n    return (@_outcome)go(model);\n}\n\n"
        "void @_set_input(@_model *model, enum @_input input, @_real value)\n{\n"
        "    int k = (int)input;\n    if (k >= 0 && k < NINPUT) model->held[k] = value;\n}\n\n"
        "void @_set_state(@_model *model, enum @_state state, @_real value)\n{\n"
        "    int j = (int)state;\n    if (j >= 0 && j < NX) model->w[W_Y + j] = value, "
        "model->lost[j] = 0;\n}\n\n"
        "@_real @_column(const @_model *model, enum @_column column)\n{\n"
        "    int k = (int)column;\n    if (k < 0 || k >= NCOLUMN) return R(NAN);\n"
        "    return k == NCOLUMN - 1 ? model->residual : model->w[column_at[k]];\n}\n\n"
        "const char *@_column_name(enum @_column column)\n{\n"
        "    int k = (int)column;\n    return k >= 0 && k < NCOLUMN ? column_name[k] : \"\";\n}\n\n"
        "int @_pivots(const @_model *model)\n{\n    return model->pivots;\n}\n");
}

/* A program that writes the rows of a run, or says what a step costs. */
static void put_program(const writer *w)
{
    put(w,
        "/* Rows of a run as CSV: @_main [STEPS]; or bytes and time: @_main STEPS time. Made by "
        "perp. */\n\n"
        "#include \"@.h\"\n\n#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n\n"
        "static @_model model;\n\n"
        "static void write_row(void)\n{\n"
        "    for (int k = 0; k < (int)$_COLUMNS; k++)\n"
        "        printf(k ? \",%.17g\" : \"%.17g\", (double)@_column(&model, (enum @_column)k));\n"
        "    printf(\"\\n\");\n}\n\n"
        "int main(int argc, char **argv)\n{\n"
        "    long steps = argc > 1 ? strtol(argv[1], 0, 10) : ");
    double whole = (perp_simulation_options_default(w->c->model).to - w->c->o.from) / w->c->o.step;
    perp__text_format(w->to, "%ld", whole > 0 && whole < 1e9 ? lround(whole) : 1000L);
    put(w,
        ", done = 0;\n"
        "    int is_timed = argc > 2;\n"
        "    @_outcome outcome = $_SOLVED;\n"
        "    clock_t before = clock();\n"
        "    @_init(&model, 0);\n"
        "    for (int k = 0; k < (int)$_COLUMNS && !is_timed; k++)\n"
        "        printf(k ? \",\\\"%s\\\"\" : \"\\\"%s\\\"\", @_column_name((enum @_column)k));\n"
        "    if (!is_timed) printf(\"\\n\"), write_row();\n"
        "    for (; done < steps; done++) {\n"
        "        outcome = @_step(&model);\n"
        "        if (outcome != $_SOLVED) break;\n"
        "        if (!is_timed) write_row();\n"
        "    }\n"
        "    if (is_timed)\n"
        "        printf(\"%ld steps, %.1f ns each; %ld bytes\\n\", done,\n"
        "               1e9 * (double)(clock() - before) / CLOCKS_PER_SEC / (double)(done ? done : "
        "1), (long)sizeof model);\n"
        "    if (outcome != $_SOLVED) fprintf(stderr, \"step %ld: outcome %d\\n\", done + 1, "
        "(int)outcome);\n"
        "    return outcome == $_SOLVED ? 0 : 3;\n}\n");
}

/* The statements, which give what they keep its place. */
static int emit_tapes(writer *w, perp__text *to)
{
    const perp__step *s = &w->c->sim->step;
    w->inputs = s->layout->table.tape;
    w->inputs.out = w->slot;
    w->inputs.nout = 0;
    w->slot += s->layout->table.n;
    for (int k = 0; k < s->layout->table.n; k++)
        if (s->layout->table.formula[k] >= 0)
            w->inputs.out[w->inputs.nout++] =
                s->layout->table.tape.out[s->layout->table.formula[k]];
    const perp__emitted emitted[TAPES] = {
        {(perp__tape *)&s->layout->sym.varied.tape, 0},
        {&w->inputs, 0},
        {(perp__tape *)&s->layout->tape.check, 0},
        {(perp__tape *)&s->layout->tape.coefficients, s->layout->nrow_code},
        {(perp__tape *)&s->layout->tape.guards, 0},
        {(perp__tape *)&s->layout->tape.outputs, 0},
        {&w->c->initial, 0}};
    int symbols = perp__step_parameter(s->layout, s->layout->sym.varied.n);
    for (int k = 0; k < TAPES; k++) {
        w->tape[k] = emitted[k].tape;
        w->c->info.statements += emitted[k].tape->ncode;
    }
    for (int i = 0; i < perp__tape_end(&w->c->initial); i++)
        w->style.place[i] = i < symbols ? i : -1;
    w->style.nplace = symbols;
    return perp__emit(to, "tape", emitted, TAPES, &w->style);
}

static int write_all(writer *w, perp__text *header, perp__text *source, perp__text *program)
{
    perp__text statements = {0}, tables = {0};
    const perp__step *s = &w->c->sim->step;
    int ok = emit_tapes(w, &statements);
    w->to = &tables;
    put_rows(w);
    put_conditions(w);
    put_pairs(w);
    put_sizes(w);
    put_inputs(w);
    put_columns(w);
    put_parameters(w);
    put_places(w, "constant_at", w->constant_place, w->nconstant);
    put_numbers(w, "constant_value", w->constant, w->nconstant);
    perp__text_format(&tables, "enum { NCONSTANT = %d };\n\n", w->nconstant);
    w->nsharp = perp__code_pairs(w->c, w->style.place, &w->pairs, &w->plain);
    w->c->info.unknowns = s->layout->ny;
    w->c->info.pairs = s->layout->np;
    w->c->info.pivots = 10 * s->layout->np + 200;
    w->to = header;
    put_header(w);
    w->to = source;
    put_begin(w);
    put_sizes_of_problem(w);
    if (ok && !tables.failed) {
        perp__text_bytes(source, tables.at, tables.length);
        perp__text_bytes(source, statements.at, statements.length);
    }
    put_calls(w, s->layout->nrow_code);
    put_pairs_of_floats(w);
    perp__text_put(source, (const char *)perp__step_text);
    put_functions(w);
    w->to = program;
    put_program(w);
    ok = ok && !tables.failed && !w->pairs.failed && !w->plain.failed && !header->failed &&
         !source->failed && !program->failed;
    perp__text_clear(&w->pairs);
    perp__text_clear(&w->plain);
    perp__text_clear(&statements);
    perp__text_clear(&tables);
    return ok;
}

int perp__code_write(perp__code *c, perp__text *header, perp__text *source, perp__text *program)
{
    const perp__step *s = &c->sim->step;
    /* Roots of tapes may be one place many times over. */
    size_t slots = (size_t)perp__tape_end(&c->initial) + 1,
           most = slots + (size_t)s->layout->row_start[s->layout->nrow] + (size_t)s->layout->ny +
                  (size_t)s->layout->nrow + (size_t)s->layout->nown + (size_t)s->layout->np +
                  (size_t)s->model->npair + (size_t)s->layout->table.n + (size_t)c->sim->ncolumn;
    writer w = {.c = c, .style = {.place = malloc((slots + most) * sizeof(int))}};
    w.constant = malloc(slots * sizeof *w.constant);
    w.constant_place = malloc(slots * sizeof *w.constant_place);
    int ok = w.style.place && w.constant && w.constant_place;
    w.slot = ok ? w.style.place + slots : NULL;
    ok = ok && write_all(&w, header, source, program);
    free(w.style.place);
    free(w.constant);
    free(w.constant_place);
    return ok;
}
