/* "final", "max(x)", "first(t where v = 0)": texts of what is kept, and the same of a run's rows as
 * they come. */

#include "base/words.h"
#include "sweep/keep.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const perp__word rows[] = {
    {"final", "at the end"}, {"max", "the largest"}, {"min", "the smallest"},
    {"mean", "over time"},   {"rms", "over time"},   {"first", "where a condition is first met"}};
static const perp__words kinds = PERP_WORDS(rows);

/* Reading ------------------------------------------------------------------------------------- */

static perp_status refuse(const char *text, const char *what, perp_diag *diag)
{
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL), "'%s': %s\n", text, what);
}

/* Without blanks at its ends. */
static const char *trimmed(perp__arena *arena, const char *text, size_t length)
{
    while (length && isspace((unsigned char)*text)) {
        text++;
        length--;
    }
    while (length && isspace((unsigned char)text[length - 1])) length--;
    return perp__arena_string(arena, text, length);
}

static int find_column(const perp__task_answer *a, const char *name)
{
    for (int c = 0; c < a->task->columns(a->of); c++)
        if (strcmp(a->task->column(a->of, c), name) == 0) return c;
    return -1;
}

static int find_number(const perp__task_answer *a, const char *name)
{
    char room[PERP__NUMBER_NAME];
    const char *unit;
    double value;
    for (int i = 0; a->task->number(a->of, i, room, &unit, &value); i++)
        if (strcmp(room, name) == 0) return i;
    return -1;
}

static perp_status find(const perp__task_answer *a, const char *text, const char *column, int *at,
                        perp_diag *diag)
{
    char said[512];
    *at = find_column(a, column);
    if (*at >= 0) return PERP_OK;
    int n = a->task->columns(a->of);
    if (!n) return refuse(text, "there are no columns over time here", diag);
    const char **names = malloc((size_t)n * sizeof *names);
    if (!names) return PERP_ERR_MEMORY;
    for (int i = 0; i < n; i++) names[i] = a->task->column(a->of, i);
    refuse(text, perp_unknown_word("column", column, names, n, NULL, said, sizeof said), diag);
    free(names);
    return PERP_ERR_ARG;
}

static perp_status take_unit(perp__keep *k, const char *unit, perp__arena *arena)
{
    k->unit = perp__arena_string(arena, unit ? unit : "", unit ? strlen(unit) : 0);
    return k->unit ? PERP_OK : PERP_ERR_MEMORY;
}

/* "D >= 2.5" behind `where`. */
static perp_status read_condition(perp__keep *k, const char *text, size_t length,
                                  perp__arena *arena, perp_diag *diag)
{
    static const char *const signs[] = {"=", "<", "<=", ">", ">="};
    const char *rest, *condition = trimmed(arena, text, length);
    if (!condition) return PERP_ERR_MEMORY;
    size_t n = strcspn(condition, "<>=");
    const char *sign = condition + n;
    size_t m = strspn(sign, "<>=");
    int found = -1;
    for (int i = 0; i < 5; i++)
        if (strlen(signs[i]) == m && strncmp(signs[i], sign, m) == 0) found = i;
    if (found < 0) return refuse(k->text, "a condition such as v = 0 or x >= 2 is expected", diag);
    k->relation = (perp__relation)found;
    k->where = trimmed(arena, condition, n);
    k->bound = perp_number_read(sign + m, &rest);
    if (rest == sign + m || *rest || !isfinite(k->bound))
        return refuse(k->text, "a number is expected at the end of the condition", diag);
    return k->where ? PERP_OK : PERP_ERR_MEMORY;
}

static const char *after_where(const char *text, const char *end)
{
    for (const char *p = text; p + 7 < end; p++)
        if (isspace((unsigned char)p[0]) && strncmp(p + 1, "where", 5) == 0 &&
            isspace((unsigned char)p[6]))
            return p + 6;
    return NULL;
}

/* A single number of the answer by its name; 0: there is none of this name. */
static int read_number(const perp__task_answer *a, perp__keep *k, perp__arena *arena,
                       perp_status *status)
{
    char room[PERP__NUMBER_NAME];
    const char *unit;
    double value;
    int i = find_number(a, k->text);
    if (i < 0) return 0;
    a->task->number(a->of, i, room, &unit, &value);
    k->kind = PERP__KEEP_NUMBER;
    *status = take_unit(k, unit, arena);
    return 1;
}

static perp_status read_one(const char *text, const perp__task_answer *answer, perp__keep *k,
                            perp__arena *arena, perp_diag *diag)
{
    char said[512];
    perp_status is_read;
    *k = (perp__keep){.text = text};
    if (read_number(answer, k, arena, &is_read)) return is_read;
    size_t length = strlen(text), n = strcspn(text, "(");
    const char *word = trimmed(arena, text, n);
    if (!word) return PERP_ERR_MEMORY;
    int kind = perp__word_find(&kinds, word);
    if (kind == PERP__KEEP_KINDS) {
        const char *words[PERP__KEEP_KINDS];
        for (int i = 0; i < PERP__KEEP_KINDS; i++) words[i] = rows[i].word;
        return refuse(text,
                      perp_unknown_word("kind of result", word, words, PERP__KEEP_KINDS, NULL, said,
                                        sizeof said),
                      diag);
    }
    k->kind = (perp__keep_kind)kind;
    if (!text[n] || text[length - 1] != ')')
        return refuse(text, "a column in parentheses is expected, as in max(x)", diag);
    const char *inner = text + n + 1, *end = text + length - 1,
               *condition = after_where(inner, end);
    if ((kind == PERP__KEEP_FIRST) != (condition != NULL))
        return refuse(text,
                      condition ? "only first(..) has a condition"
                                : "a condition is expected, as in first(t where v = 0)",
                      diag);
    size_t name = (size_t)((condition ? condition - 6 : end) - inner);
    k->column = trimmed(arena, inner, name);
    if (!k->column) return PERP_ERR_MEMORY;
    int column, where;
    perp_status status = PERP_OK;
    if (condition) status = read_condition(k, condition, (size_t)(end - condition), arena, diag);
    if (status == PERP_OK) status = find(answer, text, k->column, &column, diag);
    if (status == PERP_OK && condition) status = find(answer, text, k->where, &where, diag);
    if (status == PERP_OK)
        status = take_unit(k, answer->task->column_unit(answer->of, column), arena);
    return status == PERP_OK && arena->failed ? PERP_ERR_MEMORY : status;
}

static perp_status add(const char *text, const perp__task_answer *answer, perp__keep **list, int *n,
                       int *capacity, perp__arena *arena, perp_diag *diag)
{
    if (!text || !perp__arena_grow(arena, list, capacity, *n + 1, sizeof **list))
        return PERP_ERR_MEMORY;
    for (int i = 0; i < *n; i++)
        if (strcmp((*list)[i].text, text) == 0) return refuse(text, "is kept twice", diag);
    perp_status status = read_one(text, answer, &(*list)[*n], arena, diag);
    *n += status == PERP_OK;
    return status;
}

static perp_status add_numbers(const perp__task_answer *a, perp__keep **list, int *n, int *capacity,
                               perp__arena *arena, perp_diag *diag)
{
    char room[PERP__NUMBER_NAME];
    const char *unit;
    double value;
    perp_status status = PERP_OK;
    for (int i = 0; status == PERP_OK && a->task->number(a->of, i, room, &unit, &value); i++)
        status =
            add(perp__arena_string(arena, room, strlen(room)), a, list, n, capacity, arena, diag);
    return status;
}

perp_status perp__keep_read(const char *text, const perp_model *model,
                            const perp__task_answer *answer, perp__keep **list, int *n,
                            int *capacity, perp__arena *arena, perp_diag *diag)
{
    static const perp_symbol_kind which[] = {PERP_STATE, PERP_VAR, PERP_OUTPUT};
    if (!text) {
        perp_status status = add_numbers(answer, list, n, capacity, arena, diag);
        if (status != PERP_OK || *n) return status;
        text = rows[PERP__KEEP_FINAL].word;
    }
    const char *item = trimmed(arena, text, strlen(text));
    if (!item) return PERP_ERR_MEMORY;
    if (strcmp(item, rows[PERP__KEEP_FINAL].word) != 0)
        return add(item, answer, list, n, capacity, arena, diag);
    perp_status status = PERP_OK;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < perp_model_count(model, which[k]) && status == PERP_OK; i++) {
            const char *name = perp_model_symbol(model, which[k], i).name;
            size_t room = strlen(name) + sizeof "final()";
            char *all = perp__arena_alloc(arena, room);
            if (all) snprintf(all, room, "final(%s)", name);
            status = add(all, answer, list, n, capacity, arena, diag);
        }
    return status;
}

/* An answer ------------------------------------------------------------------------------------ */

int perp__keep_needs_rows(const perp__keep *keep)
{
    return keep->kind != PERP__KEEP_FINAL && keep->kind != PERP__KEEP_NUMBER;
}

int perp__keep_begin(const perp__keep *keep, perp__kept *kept, const perp__task_answer *answer)
{
    *kept = (perp__kept){.column = keep->column ? find_column(answer, keep->column)
                                                : find_number(answer, keep->text),
                         .where = keep->where ? find_column(answer, keep->where) : 0,
                         .value = (double)NAN,
                         .from = (double)NAN,
                         .before = (double)NAN,
                         .g = (double)NAN};
    return kept->column >= 0 && kept->where >= 0;
}

static int holds(perp__relation relation, double g, double zero)
{
    switch (relation) {
    case PERP__LESS: return g < 0;
    case PERP__LESS_EQUAL: return g <= zero;
    case PERP__MORE: return g > 0;
    case PERP__MORE_EQUAL: return g >= -zero;
    default: return fabs(g) <= zero;
    }
}

/* The condition is met in this row, or it was between the last one and this. */
static void look(const perp__keep *keep, perp__kept *k, double x, double g)
{
    const double SAME = 1e-9; /* as what is verified, of what the column came to so far */
    k->largest = fmax(k->largest, fmax(fabs(g), fabs(keep->bound)));
    int is_crossed = k->g * g < 0, is_met = holds(keep->relation, g, SAME * k->largest) ||
                                            (keep->relation == PERP__EQUAL && is_crossed);
    if (is_met) {
        double share = is_crossed ? k->g / (k->g - g) : 1;
        k->value = is_crossed && isfinite(k->before) ? k->before + share * (x - k->before) : x;
        k->is_found = 1;
    }
    k->g = g;
    k->before = x;
}

/* The integral of x or x^2, linear between rows, over what has values. */
static double area(perp__keep_kind kind, double a, double b)
{
    return kind == PERP__KEEP_RMS ? (a * a + a * b + b * b) / 3 : 0.5 * (a + b);
}

void perp__keep_take(const perp__keep *keep, perp__kept *k, const double *row)
{
    if (!perp__keep_needs_rows(keep)) return;
    double x = row[k->column], t = row[0];
    if (k->is_found || isnan(x)) return;
    switch (keep->kind) {
    case PERP__KEEP_MAX: k->value = k->value > x ? k->value : x; break;
    case PERP__KEEP_MIN: k->value = k->value < x ? k->value : x; break;
    case PERP__KEEP_FIRST:
        if (!isnan(row[k->where])) look(keep, k, x, row[k->where] - keep->bound);
        break;
    default: /* means */
        if (isnan(k->before)) {
            k->from = t;
            k->value = 0;
        } else {
            k->value += (t - k->t) * area(keep->kind, k->before, x);
        }
        k->before = x;
        k->t = t;
    }
}

static double number(const perp__task_answer *a, int i)
{
    char room[PERP__NUMBER_NAME];
    const char *unit;
    double value = (double)NAN;
    a->task->number(a->of, i, room, &unit, &value);
    return value;
}

double perp__keep_end(const perp__keep *keep, const perp__kept *k, const perp__task_answer *answer,
                      const double *last)
{
    if (keep->kind == PERP__KEEP_NUMBER) return number(answer, k->column);
    double span = k->t - k->from, mean = span > 0 ? k->value / span : k->before;
    switch (keep->kind) {
    case PERP__KEEP_FINAL: return last[k->column];
    case PERP__KEEP_MEAN: return mean;
    case PERP__KEEP_RMS: return span > 0 ? sqrt(fmax(mean, 0)) : fabs(k->before);
    case PERP__KEEP_FIRST: return k->is_found ? k->value : (double)NAN;
    default: return k->value;
    }
}
