/* The last of a layout: which rows say what of an unknown, for those who size and judge. */

#include "simulate/step.h"

#include <stdlib.h>
#include <string.h>

/* The rows in which each unknown stands; next: ny of scratch. */
static void transpose(perp__layout *l, int *next)
{
    int nonzeros = l->row_start[l->nrow];
    memset(l->marks.stands_start, 0, ((size_t)l->ny + 1) * sizeof(int));
    for (int k = 0; k < nonzeros; k++) l->marks.stands_start[l->column[k] + 1]++;
    for (int j = 0; j < l->ny; j++) {
        l->marks.stands_start[j + 1] += l->marks.stands_start[j];
        next[j] = l->marks.stands_start[j];
    }
    for (int r = 0; r < l->nrow; r++)
        for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++)
            l->marks.stands_in[next[l->column[k]]++] = r;
}

static void add_entry(perp__entries *list, int row, int at)
{
    list->row[list->n] = row;
    list->at[list->n++] = at;
}

/* Where states' rates are, what equations define, and in which rows another var, a force, can be bounded: in equations, or in sides where
 * it stands in none. */
static void list_entries(perp__layout *l)
{
    for (int r = 0; r < l->nrow; r++) {
        int first = l->row_start[r], end = l->row_start[r + 1], in_sides = r >= l->nequation;
        if (r < l->nown) l->marks.defined_at[r] = -1;
        for (int k = first; k < end; k++) {
            int j = l->column[k], is_other = j >= l->nx && !l->marks.defined[j];
            if (!in_sides && l->marks.is_rate[k]) add_entry(&l->marks.rate, r, k);
            if (r < l->nown && l->marks.defines[r] == j) l->marks.defined_at[r] = k;
            if (is_other && l->marks.in_equation[j] != in_sides && !(in_sides && end == first + 1))
                add_entry(&l->marks.force, r, k);
        }
    }
}

static int reads_time(const perp__tape *tape)
{
    int reads = 0;
    for (int i = 0; i < tape->ncode; i++)
        reads |= tape->code[i].a < SYM_H || tape->code[i].b < SYM_H;
    for (int r = 0; r < tape->nout; r++) reads |= tape->out[r] < SYM_H;
    return reads;
}

int perp__step_is_named(const perp__layout *l, const perp_model *m, int j)
{
    return j < l->nx || (j < l->nx + l->nv && l->sym.var_of[j - l->nx] < m->nvar);
}

const perp__item *perp__step_item(const perp__layout *l, const perp_model *m, int j)
{
    return j < l->nx ? &m->item[PERP_STATE][j] : &m->item[PERP_VAR][l->sym.var_of[j - l->nx]];
}

int perp__marks_allocate(perp__layout *l, const perp_model *m)
{
    perp__marks *marks = &l->marks;
    size_t nsymbol = (size_t)perp__tape_end(&l->sym.varied.tape),
           nonzeros = (size_t)l->row_start[l->nrow] + 1;
    int *next = malloc(((size_t)l->ny + 1) * sizeof(int));
    l->declared = malloc(((size_t)l->ny + 1) * sizeof(double));
    marks->before = malloc((nsymbol + 1) * sizeof(int));
    marks->defined_at = malloc((4 * nonzeros + (size_t)l->nown) * sizeof(int));
    marks->stands_in = malloc(((size_t)l->row_start[l->nrow] + 1) * sizeof(int));
    marks->stands_start = malloc(((size_t)l->ny + 1) * sizeof(int));
    int ok = next && l->declared && marks->before && marks->defined_at && marks->stands_in &&
             marks->stands_start;
    if (ok) {
        transpose(l, next);
        marks->rate.row = marks->defined_at + l->nown;
        marks->rate.at = marks->rate.row + nonzeros;
        marks->force.row = marks->rate.at + nonzeros;
        marks->force.at = marks->force.row + nonzeros;
        list_entries(l);
        for (size_t i = 0; i < nsymbol; i++) marks->before[i] = -1;
        for (int i = 0; i < l->nx; i++) marks->before[l->sym.y + i] = l->sym.pre + i;
        for (int j = 0; j < l->ny; j++)
            l->declared[j] = perp__step_is_named(l, m, j) ? perp__step_item(l, m, j)->scale : 0;
    }
    marks->reads_time = reads_time(&l->tape.check) | reads_time(&l->tape.coefficients) |
                        reads_time(&l->tape.guards);
    free(next);
    return ok;
}
