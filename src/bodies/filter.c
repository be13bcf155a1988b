/* Which shapes may be in contact, and with which friction: by their bodies, by rules of shapes, by
 * named pairs. */

#include "bodies/bodies.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const perp_contact_material usual = {.type = 1, .affinity = 1, .dimension = 6};

static const perp_contact_material *rule_of(const perp_bodies *b, int shape)
{
    return b->filter->rule ? &b->filter->rule[shape] : &usual;
}

void perp__bodies_look_again(perp_bodies *b)
{
    b->settings = 0;
    if (!b->is_ahead) return;
    perp_contact *touch = b->touch;
    int capacity = b->ctouch;
    b->touch = b->before;
    b->ctouch = b->cbefore;
    b->ntouch = b->nbefore;
    b->before = touch;
    b->cbefore = capacity;
    b->nbefore = 0;
    b->is_ahead = 0;
}

int perp__filter_rules(perp_bodies *b)
{
    if (b->filter->rule) return 1;
    b->filter->rule = malloc((size_t)b->scene->nshape * sizeof *b->filter->rule);
    if (b->filter->rule) perp__filter_usual(b);
    return b->filter->rule != NULL;
}

void perp__filter_usual(perp_bodies *b)
{
    for (int i = 0; i < b->scene->nshape && b->filter->rule; i++) b->filter->rule[i] = usual;
}

perp_status perp_bodies_set_contact_material(perp_bodies *b, int shape,
                                             const perp_contact_material *rule)
{
    if (!b || !rule || shape < 0 || shape >= b->scene->nshape ||
        (rule->dimension != 1 && rule->dimension != 3 && rule->dimension != 4 &&
         rule->dimension != 6))
        return PERP_ERR_ARG;
    if (!perp__filter_rules(b)) return PERP_ERR_MEMORY;
    b->filter->rule[shape] = *rule;
    perp__bodies_look_again(b);
    return PERP_OK;
}

/* Pairs of numbers, the smaller first, at the begin of each entry of a list of `size` bytes an
 * entry. */

static const int *entry(const void *list, int k, size_t size)
{
    return (const int *)(const void *)((const char *)list + (size_t)k * size);
}

/* Where the pair is, or would be. */
static int *place_of(const perp__pair_index *index, const void *list, size_t size, const int key[2])
{
    uint64_t both = (uint64_t)(uint32_t)key[0] << 32 | (uint32_t)key[1];
    size_t last = (size_t)index->size - 1,
           i = (size_t)(both * UINT64_C(0x9e3779b97f4a7c15) >> 32) & last;
    for (; index->place[i]; i = (i + 1) & last) {
        const int *is = entry(list, index->place[i] - 1, size);
        if (is[0] == key[0] && is[1] == key[1]) break;
    }
    return &index->place[i];
}

/* -1: it is not there. */
static int find_pair(const perp__pair_index *index, const void *list, size_t size, int i, int j)
{
    const int key[2] = {i < j ? i : j, i < j ? j : i};
    return index->size ? *place_of(index, list, size, key) - 1 : -1;
}

/* Room for n pairs, twice as many places at least. */
static int make_room(perp__pair_index *index, const void *list, size_t size, int n)
{
    if (n < index->size / 2) return 1;
    perp__pair_index larger = {.size = index->size ? 2 * index->size : 64};
    if (index->size > INT_MAX / 2) return 0;
    larger.place = calloc((size_t)larger.size, sizeof *larger.place);
    if (!larger.place) return 0;
    for (int k = 0; k < index->size; k++)
        if (index->place[k])
            *place_of(&larger, list, size, entry(list, index->place[k] - 1, size)) =
                index->place[k];
    free(index->place);
    *index = larger;
    return 1;
}

/* The index of all n pairs of a list, made anew; 0: memory is out. */
static int index_all(perp__pair_index *index, const void *list, size_t size, int n)
{
    if (index->size) memset(index->place, 0, (size_t)index->size * sizeof *index->place);
    for (int k = 0; k < n; k++) {
        if (!make_room(index, list, size, k)) return 0;
        *place_of(index, list, size, entry(list, k, size)) = k + 1;
    }
    return 1;
}

int perp__filter_index(perp_bodies *b)
{
    perp__filter *f = b->filter;
    return index_all(&f->of_pair, f->pair, sizeof *f->pair, f->npair) &&
           index_all(&f->of_apart, f->apart, sizeof *f->apart, f->napart);
}

static perp__named_pair *named(const perp_bodies *b, int i, int j)
{
    int k = find_pair(&b->filter->of_pair, b->filter->pair, sizeof *b->filter->pair, i, j);
    return k < 0 ? NULL : &b->filter->pair[k];
}

perp_status perp_bodies_add_pair(perp_bodies *b, int shape0, int shape1, double mu)
{
    if (!b || shape0 < 0 || shape1 < 0 || shape0 >= b->scene->nshape ||
        shape1 >= b->scene->nshape || !(mu >= 0) || !isfinite(mu) ||
        b->scene->shape[shape0].body == b->scene->shape[shape1].body ||
        (perp__is_ground(&b->scene->shape[shape0]) && perp__is_ground(&b->scene->shape[shape1])))
        return PERP_ERR_ARG;
    perp__filter *f = b->filter;
    perp__named_pair *old = named(b, shape0, shape1);
    perp__bodies_look_again(b);
    if (old) {
        old->mu[0] = mu;
        return PERP_OK;
    }
    if (!perp__grow(&f->pair, &f->cpair, f->npair + 1, sizeof *f->pair) ||
        !make_room(&f->of_pair, f->pair, sizeof *f->pair, f->npair))
        return PERP_ERR_MEMORY;
    int swap = shape0 > shape1;
    perp__named_pair *is = &f->pair[f->npair++];
    *is = (perp__named_pair){{swap ? shape1 : shape0, swap ? shape0 : shape1}, {mu}};
    *place_of(&f->of_pair, f->pair, sizeof *is, is->shape) = f->npair;
    return PERP_OK;
}

perp_status perp_bodies_set_pair_friction(perp_bodies *b, int shape0, int shape1, double spin,
                                          double roll)
{
    perp__named_pair *pair = b ? named(b, shape0, shape1) : NULL;
    if (!pair || !(spin >= 0) || !(roll >= 0) || !isfinite(spin + roll)) return PERP_ERR_ARG;
    perp__bodies_look_again(b);
    pair->mu[1] = spin;
    pair->mu[2] = roll;
    return PERP_OK;
}

static int are_apart(const perp_bodies *b, int x, int y)
{
    return find_pair(&b->filter->of_apart, b->filter->apart, sizeof *b->filter->apart, x, y) >= 0;
}

perp_status perp_bodies_exclude_contacts(perp_bodies *b, int body0, int body1)
{
    if (!b || body0 < 0 || body1 < 0 || body0 >= b->scene->n || body1 >= b->scene->n)
        return PERP_ERR_ARG;
    perp__filter *f = b->filter;
    perp__bodies_look_again(b);
    if (are_apart(b, body0, body1)) return PERP_OK;
    if (!perp__grow(&f->apart, &f->capart, f->napart + 1, sizeof *f->apart) ||
        !make_room(&f->of_apart, f->apart, sizeof *f->apart, f->napart))
        return PERP_ERR_MEMORY;
    int *is = f->apart[f->napart++];
    is[0] = body0 < body1 ? body0 : body1;
    is[1] = body0 < body1 ? body1 : body0;
    *place_of(&f->of_apart, f->apart, sizeof *f->apart, is) = f->napart;
    return PERP_OK;
}

/* What is fixed is one body. */
static int root_of(const perp_bodies *b, int body)
{
    while (body > 0 && !b->link[body].nv) body = b->link[body].is.parent;
    return body;
}

int perp__bodies_is_named(const perp_bodies *b, int i, int j)
{
    return named(b, i, j) != NULL;
}

/* By their two numbers, the smaller first. */
static int by_numbers(const void *x, const void *y)
{
    const int *a = x, *b = y;
    return a[0] != b[0] ? (a[0] > b[0]) - (a[0] < b[0]) : (a[1] > b[1]) - (a[1] < b[1]);
}

static int is_excluded(const perp_bodies *b, int i, int j)
{
    const int key[2] = {i < j ? i : j, i < j ? j : i};
    return b->filter->nexcluded && bsearch(key, b->filter->excluded, (size_t)b->filter->nexcluded,
                                           sizeof *b->filter->excluded, by_numbers);
}

int perp__bodies_exclude(perp_bodies *b, const perp_contact *t)
{
    perp__filter *f = b->filter;
    int i = t->shape[0], j = t->shape[1];
    if (is_excluded(b, i, j)) return 1;
    if (!perp__grow(&f->excluded, &f->cexcluded, f->nexcluded + 1, sizeof *f->excluded)) return 0;
    b->settings = 0;
    f->excluded[f->nexcluded++] = (perp__excluded_pair){{i < j ? i : j, i < j ? j : i}, -t->gap};
    qsort(f->excluded, (size_t)f->nexcluded, sizeof *f->excluded, by_numbers);
    return 1;
}

int perp_bodies_excluded_pair(const perp_bodies *b, int k, int shape[2], double *overlap)
{
    if (!b || k < 0 || k >= b->filter->nexcluded) return 0;
    for (int i = 0; i < 2 && shape; i++) shape[i] = b->filter->excluded[k].shape[i];
    if (overlap) *overlap = b->filter->excluded[k].penetration;
    return 1;
}

int perp__bodies_may_touch(const perp_bodies *b, int i, int j)
{
    if (is_excluded(b, i, j)) return 0;
    if (named(b, i, j)) return 1;
    const perp_contact_material *p = rule_of(b, i), *q = rule_of(b, j);
    if (!(p->type & q->affinity) && !(q->type & p->affinity)) return 0;
    if (are_apart(b, b->scene->shape[i].body, b->scene->shape[j].body)) return 0;
    int x = root_of(b, b->scene->shape[i].body), y = root_of(b, b->scene->shape[j].body);
    if (x == y) return 0;
    int px = x ? root_of(b, b->link[x].is.parent) : -1,
        py = y ? root_of(b, b->link[y].is.parent) : -1;
    return !((x && px == y && y) || (y && py == x && x));
}

void perp__bodies_friction(const perp_bodies *b, int i, int j, double mu[3])
{
    static const int least[3] = {3, 4, 6}; /* the dimensions that have them */
    const perp__named_pair *pair = named(b, i, j);
    const perp_contact_material *p = rule_of(b, i), *q = rule_of(b, j);
    const perp__coefficients *x = &b->surface[i], *y = &b->surface[j];
    if (p->priority < q->priority) {
        p = q;
        x = y;
    }
    if (p->priority > q->priority) {
        q = p;
        y = x;
    }
    int dimension = p->dimension > q->dimension ? p->dimension : q->dimension;
    for (int k = 0; k < 3; k++) {
        double larger = dimension >= least[k] ? fmax(x->mu[k], y->mu[k]) : 0;
        mu[k] = pair ? pair->mu[k] : larger;
    }
}

int perp__filter_copy(perp_bodies *b, const perp__filter *from)
{
    perp__filter *f = b->filter;
    size_t nshape = (size_t)b->scene->nshape;
    if (from->rule && !(f->rule = malloc(nshape * sizeof *f->rule))) return 0;
    if (!perp__grow(&f->pair, &f->cpair, from->npair, sizeof *f->pair) ||
        !perp__grow(&f->apart, &f->capart, from->napart, sizeof *f->apart) ||
        !perp__grow(&f->excluded, &f->cexcluded, from->nexcluded, sizeof *f->excluded))
        return 0;
    if (from->rule) memcpy(f->rule, from->rule, nshape * sizeof *f->rule);
    f->npair = from->npair;
    f->napart = from->napart;
    f->nexcluded = from->nexcluded;
    if (f->npair) memcpy(f->pair, from->pair, (size_t)f->npair * sizeof *f->pair);
    if (f->napart) memcpy(f->apart, from->apart, (size_t)f->napart * sizeof *f->apart);
    if (f->nexcluded)
        memcpy(f->excluded, from->excluded, (size_t)f->nexcluded * sizeof *f->excluded);
    return perp__filter_index(b);
}

void perp__filter_destroy(perp_bodies *b)
{
    free(b->filter->rule);
    free(b->filter->pair);
    free(b->filter->of_pair.place);
    free(b->filter->apart);
    free(b->filter->of_apart.place);
    free(b->filter->excluded);
}
