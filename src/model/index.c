/* Number of derivatives of a condition until forces appear in it, by what the condition reads. It
 * is the index less one (Hairer and Wanner, Solving ordinary differential equations II, VII.1). */

#include "model/inspect.h"

#include <limits.h>
#include <stdlib.h>

enum { NEVER = INT_MAX / 2 };

typedef struct reading {
    const perp_model *m;
    int *level;        /* of a symbol: derivatives until a force is seen, which has 0 itself */
    int *state;        /* of a symbol: the state whose rate it is; -1 */
    char *is_var;      /* of a symbol */
    int *given;        /* of an equation: the var that it gives; -1 none */
    int *first, *read; /* of an equation: the symbols that it reads, read[first[i]] and on */
} reading;

static void clear(reading *r)
{
    free(r->level);
    free(r->state);
    free(r->is_var);
    free(r->given);
    free(r->first);
    free(r->read);
}

/* The symbols that the expressions read, behind the n that are there; -1: no memory. */
static int add_symbols(reading *r, const perp_expr *e, int count, int n)
{
    int nreach;
    int *reach = perp__graph_reach(&r->m->graph, e, count, &nreach);
    int *more = reach ? realloc(r->read, ((size_t)n + (size_t)nreach + 1) * sizeof *more) : NULL;
    if (more) r->read = more;
    for (int k = 0; more && k < nreach; k++) {
        const perp__node *node = &r->m->graph.node[reach[k]];
        if (node->op == PERP__SYMBOL) r->read[n++] = node->a;
    }
    free(reach);
    return more ? n : -1;
}

static int create(reading *r)
{
    const perp_model *m = r->m;
    size_t ns = (size_t)m->nsymbol + 1, ne = (size_t)m->nequation + 2;
    r->level = malloc(ns * sizeof(int));
    r->state = malloc(ns * sizeof(int));
    r->is_var = calloc(ns, 1);
    r->given = malloc(ne * sizeof(int));
    r->first = malloc(ne * sizeof(int));
    if (!r->level || !r->state || !r->is_var || !r->given || !r->first) return 0;
    for (int s = 0; s < m->nsymbol; s++) {
        r->level[s] = NEVER;
        r->state[s] = -1;
    }
    for (int i = 0; i < m->nitem[PERP_STATE]; i++)
        r->state[m->item[PERP_STATE][i].symbol + PERP__DER] = m->item[PERP_STATE][i].symbol;
    for (int i = 0; i < m->nitem[PERP_VAR]; i++) {
        r->is_var[m->item[PERP_VAR][i].symbol] = 1;
        r->level[m->item[PERP_VAR][i].symbol] = 0;
    }
    int n = r->first[0] = 0;
    for (int i = 0; i < m->nequation && n >= 0; i++) {
        r->given[i] = -1;
        n = add_symbols(r, (perp_expr[]){m->equation[i].left, m->equation[i].right}, 2, n);
        r->first[i + 1] = n;
    }
    return n >= 0;
}

/* What is read, from `first` to `end`: the least level, without rates and `but`; the number of
 * rates and of vars, and the last var. */
static int least_level(const reading *r, int first, int end, int but, int *nrate, int *nvar,
                       int *var)
{
    int least = NEVER;
    *nrate = *nvar = 0;
    *var = -1;
    for (int k = first; k < end; k++) {
        int s = r->read[k];
        if (r->state[s] >= 0)
            ++*nrate;
        else if (s != but && r->level[s] < least)
            least = r->level[s];
        if (r->is_var[s]) {
            ++*nvar;
            *var = s;
        }
    }
    return least;
}

/* A var that an equation without rates gives is no force: it is what the equation reads. */
static void find_given(reading *r)
{
    for (int i = 0; i < r->m->nequation; i++) {
        int nrate, nvar, var;
        least_level(r, r->first[i], r->first[i + 1], -1, &nrate, &nvar, &var);
        if (nrate > 0 || nvar != 1 || r->level[var] == NEVER) continue;
        r->given[i] = var;
        r->level[var] = NEVER;
    }
}

/* One more than what its rate reads; what a given var reads. Returns 1: something changed. */
static int spread(reading *r)
{
    int changed = 0;
    for (int i = 0; i < r->m->nequation; i++) {
        int nrate, nvar, var;
        int least = least_level(r, r->first[i], r->first[i + 1], r->given[i], &nrate, &nvar, &var);
        if (r->given[i] >= 0 && least < r->level[r->given[i]]) {
            r->level[r->given[i]] = least;
            changed = 1;
        }
        for (int k = r->first[i]; nrate > 0 && least < NEVER && k < r->first[i + 1]; k++) {
            int state = r->state[r->read[k]];
            if (state >= 0 && least + 1 < r->level[state]) {
                r->level[state] = least + 1;
                changed = 1;
            }
        }
    }
    return changed;
}

static void count(perp__held *held, int level, int is_pair)
{
    if (level == NEVER || level < held->level || level == 0) return;
    if (level > held->level) *held = (perp__held){.level = level};
    if (is_pair)
        held->npair++;
    else
        held->nequation++;
}

/* Equations that give no var and no rate, and the sides of pairs. Returns 0: memory. */
static int count_held(reading *r, perp__held *held)
{
    const perp_model *m = r->m;
    int nrate, nvar, var, behind = r->first[m->nequation];
    for (int i = 0; i < m->nequation; i++) {
        int least = least_level(r, r->first[i], r->first[i + 1], -1, &nrate, &nvar, &var);
        if (nrate == 0 && r->given[i] < 0 && m->equation[i].contact < 0) count(held, least, 0);
    }
    for (int i = 0; i < m->npair; i++) {
        int level = 0;
        for (int side = m->pair[i].two_sided; side < 2; side++) {
            int n = add_symbols(r, side ? &m->pair[i].b : &m->pair[i].a, 1, behind);
            if (n < 0) return 0;
            int least = least_level(r, behind, n, -1, &nrate, &nvar, &var);
            if (nrate == 0 && least < NEVER && least > level) level = least;
        }
        count(held, level, 1);
    }
    return 1;
}

int perp__find_held(const perp_model *m, perp__held *held)
{
    reading r = {.m = m};
    *held = (perp__held){0};
    int ok = m->kind == PERP_DISCRETE || create(&r);
    if (ok && m->kind != PERP_DISCRETE) {
        find_given(&r);
        while (spread(&r)) {
        }
        ok = count_held(&r, held);
    }
    clear(&r);
    return ok;
}
