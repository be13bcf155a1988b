/* A maximum matching of rows and columns, strongly connected components, and minimum degree in
 * each. */

#include "linalg/sparse_order.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pattern {
    int n;
    const int *start, *column;
    perp__arena arena; /* of what follows */
    int *row_of;       /* the row matched with each column; -1: none */
    int *seen, *at, *stack, *chosen;
} pattern;

/* Matching: Duff (1981) ------------------------------------------------------------------------ */

/* The first column of row i, from next[i] on, that has no row; -1: there is none. A column that has
 * a row keeps one, so next[i] never goes back. */
static int free_column(const pattern *p, int i, int *next)
{
    while (next[i] < p->start[i + 1]) {
        int j = p->column[next[i]++];
        if (p->row_of[j] < 0) return j;
    }
    return -1;
}

/* The next column of row i whose row this search has not met; -1: there is none. */
static int other_column(const pattern *p, int i, int search)
{
    while (p->at[i] < p->start[i + 1]) {
        int j = p->column[p->at[i]++];
        if (p->seen[p->row_of[j]] != search) return j;
    }
    return -1;
}

/* Match row i along an augmenting path, depth first. Returns whether there is one. */
static int augment(const pattern *p, int i, int *next)
{
    int depth = 0;
    p->stack[0] = i;
    while (depth >= 0) {
        int row = p->stack[depth];
        if (p->seen[row] != i) {
            p->seen[row] = i;
            p->at[row] = p->start[row];
            p->chosen[depth] = free_column(p, row, next);
            if (p->chosen[depth] >= 0) break;
        }
        int j = other_column(p, row, i);
        if (j < 0) {
            depth--;
            continue;
        }
        p->chosen[depth] = j;
        p->stack[++depth] = p->row_of[j];
    }
    for (int k = depth; k >= 0; k--) p->row_of[p->chosen[k]] = p->stack[k];
    return depth >= 0;
}

/* Match as many rows as possible, then the other rows with the other columns. Returns how many rows
 * have an entry in their column. */
static int match(const pattern *p)
{
    int rank = 0, column = 0;
    int *next = p->stack + p->n, *is_left = next + p->n;
    memcpy(next, p->start, (size_t)p->n * sizeof *next);
    for (int i = 0; i < p->n; i++) p->row_of[i] = p->seen[i] = -1;
    for (int i = 0; i < p->n; i++) {
        is_left[i] = !augment(p, i, next);
        rank += !is_left[i];
    }
    for (int i = 0; i < p->n && rank < p->n; i++) {
        if (!is_left[i]) continue;
        while (p->row_of[column] >= 0) column++;
        p->row_of[column] = i;
    }
    return rank;
}

/* Components: Tarjan (1972) -------------------------------------------------------------------- */

typedef struct search {
    int *low, *path, met, npath;
} search;

enum { NOT_MET = -1 };

static void meet(const pattern *p, search *s, int i, int depth)
{
    p->stack[depth] = i;
    p->at[i] = p->start[i];
    p->seen[i] = s->low[i] = s->met++;
    s->path[s->npath++] = i;
}

/* All neighbours of row i are met. If it is the first row of a component, this goes to the
 * order. */
static void leave(const pattern *p, search *s, int i, perp__sparse_order *order)
{
    int end = order->block[order->nblock];
    if (s->low[i] < p->seen[i]) return;
    for (int row = NOT_MET; row != i;) {
        row = s->path[--s->npath];
        s->low[row] = p->n; /* no neighbour of later components */
        order->row[end++] = row;
    }
    order->block[++order->nblock] = end;
}

/* Order the components that row i reaches, each after those that it needs. */
static void walk(const pattern *p, search *s, int i, perp__sparse_order *order)
{
    int depth = 0;
    meet(p, s, i, 0);
    while (depth >= 0) {
        int row = p->stack[depth];
        if (p->at[row] < p->start[row + 1]) {
            int other = p->row_of[p->column[p->at[row]++]];
            if (p->seen[other] == NOT_MET)
                meet(p, s, other, ++depth);
            else if (s->low[other] < s->low[row])
                s->low[row] = s->low[other];
            continue;
        }
        leave(p, s, row, order);
        if (--depth >= 0 && s->low[row] < s->low[p->stack[depth]])
            s->low[p->stack[depth]] = s->low[row];
    }
}

static void find_components(const pattern *p, perp__sparse_order *order)
{
    search s = {.low = p->stack + p->n, .path = p->chosen};
    order->nblock = order->block[0] = 0;
    for (int i = 0; i < p->n; i++) p->seen[i] = NOT_MET;
    for (int i = 0; i < p->n; i++)
        if (p->seen[i] == NOT_MET) walk(p, &s, i, order);
}

/* Approximate minimum degree: Amestoy, Davis and Duff (1996) ----------------------------------- */

/* The quotient graph of one block. A node is a variable, or an element: a pivot and the variables
 * that it joins. The list of a variable has elements, then variables. That of an element has
 * variables. */
typedef struct graph {
    int n, npivot, left; /* left: variables that have no place yet */
    perp__arena *arena;
    int *list, capacity, used;
    int *at, *length, *elements; /* of each node's list; how many of it are elements */
    int *size;   /* variables that it stands for; 0: none; negative: it is in the pivot's element */
    int *degree; /* a bound; of an element: how many variables it has */
    long long *mark, stamp; /* mark of an element: 0 when it has become part of another */
    int *parent;            /* the variable or pivot that absorbed this one; -1: none */
    int *place;             /* of a pivot among pivots */
    int *head, *next, *previous, least; /* variables of each degree */
    int *bucket, *key, *following;      /* variables of each hash */
} graph;

static void unlink_variable(graph *g, int i)
{
    if (g->previous[i] >= 0)
        g->next[g->previous[i]] = g->next[i];
    else
        g->head[g->degree[i]] = g->next[i];
    if (g->next[i] >= 0) g->previous[g->next[i]] = g->previous[i];
}

static void link_variable(graph *g, int i)
{
    int *head = &g->head[g->degree[i]];
    g->previous[i] = -1;
    g->next[i] = *head;
    if (*head >= 0) g->previous[*head] = i;
    *head = i;
    if (g->degree[i] < g->least) g->least = g->degree[i];
}

/* Add a variable to the pivot's element, at the end of the list. */
static void put_variable(graph *g, int pivot, int i)
{
    if (g->size[i] <= 0) return;
    g->degree[pivot] += g->size[i];
    g->size[i] = -g->size[i];
    unlink_variable(g, i);
    g->list[g->used++] = i;
}

/* The pivot's element: the variables next to it, directly or by elements, which it absorbs. */
static int form_element(graph *g, int pivot)
{
    int first = g->at[pivot], end = first + g->length[pivot], nelement = g->elements[pivot];
    int needed = g->used + g->length[pivot];
    for (int k = first; k < first + nelement; k++) needed += g->length[g->list[k]];
    if (!perp__arena_grow(g->arena, &g->list, &g->capacity, needed + 1, sizeof *g->list)) return 0;
    int from = g->used;
    g->degree[pivot] = 0;
    for (int k = first + nelement; k < end; k++) put_variable(g, pivot, g->list[k]);
    for (int k = first; k < first + nelement; k++) {
        int e = g->list[k], last = g->at[e] + g->length[e];
        for (int t = g->at[e]; t < last; t++) put_variable(g, pivot, g->list[t]);
        g->mark[e] = 0;
    }
    g->at[pivot] = from;
    g->length[pivot] = g->used - from;
    return 1;
}

/* For each element next to the new one: mark - stamp counts its variables outside the new one. */
static void count_outside(graph *g, int pivot)
{
    for (int k = g->at[pivot]; k < g->used; k++) {
        int i = g->list[k], last = g->at[i] + g->elements[i];
        for (int t = g->at[i]; t < last; t++) {
            int e = g->list[t];
            if (g->mark[e] == 0) continue;
            if (g->mark[e] < g->stamp) g->mark[e] = g->stamp + g->degree[e];
            g->mark[e] += g->size[i]; /* which is negative */
        }
    }
}

/* Drop from the list of variable i what the new element covers, and put that element first. Returns
 * the degree without the new element. */
static int shorten_list(graph *g, int pivot, int i)
{
    int *list = g->list + g->at[i], out = 0, degree = 0, first_variable;
    unsigned key = (unsigned)pivot;
    for (int k = 0; k < g->elements[i]; k++) {
        int e = list[k], outside = g->mark[e] ? (int)(g->mark[e] - g->stamp) : 0;
        if (outside == 0) { /* the new element covers it */
            g->mark[e] = 0;
            continue;
        }
        list[out++] = e;
        degree += outside;
        key += (unsigned)e;
    }
    first_variable = out;
    for (int k = g->elements[i]; k < g->length[i]; k++) {
        int j = list[k];
        if (g->size[j] <= 0) continue;
        list[out++] = j;
        degree += g->size[j];
        key += (unsigned)j;
    }
    /* the pivot or an element of it has left the list, so there is room */
    list[out] = list[first_variable];
    list[first_variable] = list[0];
    list[0] = pivot;
    g->elements[i] = first_variable + 1;
    g->length[i] = out + 1;
    g->key[i] = (int)(key % (unsigned)g->n);
    return degree;
}

/* Variable i is eliminated with another variable, or with the pivot. */
static void absorb(graph *g, int i, int into)
{
    g->parent[i] = into;
    g->size[i] = 0;
}

static void update_variables(graph *g, int pivot)
{
    for (int k = g->at[pivot]; k < g->used; k++) {
        int i = g->list[k], degree = shorten_list(g, pivot, i);
        if (degree == 0) { /* it has no neighbours that the pivot has not */
            g->degree[pivot] += g->size[i];
            g->left += g->size[i];
            absorb(g, i, pivot);
            continue;
        }
        if (degree < g->degree[i]) g->degree[i] = degree;
        g->following[i] = g->bucket[g->key[i]];
        g->bucket[g->key[i]] = i;
    }
}

/* Have i and j the same list? That of i is marked with the stamp. */
static int is_same(const graph *g, int i, int j)
{
    if (g->length[i] != g->length[j] || g->elements[i] != g->elements[j]) return 0;
    for (int k = g->at[j]; k < g->at[j] + g->length[j]; k++)
        if (g->mark[g->list[k]] != g->stamp) return 0;
    return 1;
}

/* Merge variables of the new element that have the same list. */
static void merge_variables(graph *g, int pivot)
{
    for (int k = g->at[pivot]; k < g->used; k++) {
        int first = g->list[k];
        if (g->size[first] == 0) continue;
        int i = g->bucket[g->key[first]];
        g->bucket[g->key[first]] = -1;
        for (; i >= 0 && g->following[i] >= 0; i = g->following[i]) {
            g->stamp++;
            for (int t = g->at[i]; t < g->at[i] + g->length[i]; t++) g->mark[g->list[t]] = g->stamp;
            for (int *j = &g->following[i]; *j >= 0;) {
                if (!is_same(g, i, *j)) {
                    j = &g->following[*j];
                    continue;
                }
                g->size[i] += g->size[*j];
                absorb(g, *j, i);
                *j = g->following[*j];
            }
        }
    }
}

/* Put the remaining variables of the new element into the lists of their degrees. */
static void link_variables(graph *g, int pivot)
{
    int out = g->at[pivot];
    for (int k = g->at[pivot]; k < g->used; k++) {
        int i = g->list[k];
        if (g->size[i] == 0) continue;
        g->size[i] = -g->size[i];
        int degree = g->degree[i] + g->degree[pivot] - g->size[i], most = g->left - g->size[i];
        g->degree[i] = degree < most ? degree : most;
        link_variable(g, i);
        g->list[out++] = i;
    }
    g->used = out;
    g->length[pivot] = out - g->at[pivot];
    if (g->length[pivot] == 0) g->mark[pivot] = 0;
}

static int eliminate(graph *g)
{
    while (g->head[g->least] < 0) g->least++;
    int pivot = g->head[g->least], size = g->size[pivot];
    unlink_variable(g, pivot);
    g->place[pivot] = g->npivot++;
    g->left -= size;
    g->size[pivot] = 0;
    if (!form_element(g, pivot)) return 0;
    g->stamp += g->n + 1;
    count_outside(g, pivot);
    update_variables(g, pivot);
    g->stamp += g->n + 1;
    merge_variables(g, pivot);
    g->stamp++;
    g->mark[pivot] = 1;
    link_variables(g, pivot);
    return 1;
}

static int create_graph(graph *g, int n, perp__arena *arena)
{
    *g = (graph){.arena = arena, .capacity = 0};
    int **ints[] = {&g->at,        &g->length, &g->elements, &g->size,   &g->degree,
                    &g->head,      &g->next,   &g->previous, &g->bucket, &g->key,
                    &g->following, &g->parent, &g->place};
    for (size_t k = 0; k < sizeof ints / sizeof *ints; k++) PERP_TAKE(arena, *ints[k], n + 1);
    PERP_TAKE(arena, g->mark, n + 1);
    return !arena->failed;
}

/* The node of the block that has column j on the diagonal; -1: another block has it. */
static int node_of(const pattern *p, const int *local, int j)
{
    return local[p->row_of[j]];
}

/* Count the neighbours of each node, or list them, by the pattern of A + A'; some twice. */
static void lay_edges(graph *g, const pattern *p, const int *rows, const int *local, int is_count)
{
    for (int i = 0; i < g->n; i++) {
        for (int k = p->start[rows[i]]; k < p->start[rows[i] + 1]; k++) {
            int j = node_of(p, local, p->column[k]);
            if (j < 0 || j == i) continue;
            if (!is_count) {
                g->list[g->at[i] + g->length[i]] = j;
                g->list[g->at[j] + g->length[j]] = i;
            }
            g->length[i]++;
            g->length[j]++;
        }
    }
}

/* Keep each neighbour once. */
static void drop_repeated(graph *g)
{
    for (int i = 0; i < g->n; i++) {
        int *list = g->list + g->at[i], out = 0;
        for (int k = 0; k < g->length[i]; k++) {
            if (g->mark[list[k]] == i + 1) continue;
            g->mark[list[k]] = i + 1;
            list[out++] = list[k];
        }
        g->length[i] = g->degree[i] = out;
    }
}

/* Make the graph of a block, still without elements. Nodes with very many neighbours have no part
 * in it: they come last. */
static int fill_graph(graph *g, const pattern *p, const int *rows, int n, const int *local)
{
    double many = 10 * sqrt((double)n);
    g->n = g->left = n;
    g->npivot = 0;
    g->least = 0;
    memset(g->length, 0, (size_t)n * sizeof *g->length);
    lay_edges(g, p, rows, local, 1);
    g->used = 0;
    for (int i = 0; i < n; i++) {
        g->at[i] = g->used;
        g->used += g->length[i];
        g->length[i] = g->elements[i] = 0;
        g->size[i] = 1;
        g->parent[i] = -1;
        g->mark[i] = 0;
        g->head[i] = g->bucket[i] = -1;
    }
    if (!perp__arena_grow(g->arena, &g->list, &g->capacity, g->used + 1, sizeof *g->list)) return 0;
    lay_edges(g, p, rows, local, 0);
    drop_repeated(g);
    for (int i = n - 1; i >= 0; i--) {
        g->mark[i] = 1;
        if (g->degree[i] > 16 && g->degree[i] > many) {
            g->size[i] = 0;
            g->place[i] = n;
            g->left--;
        } else
            link_variable(g, i);
    }
    g->stamp = 2;
    return 1;
}

/* Sort the rows of the block by the places of the pivots that absorbed them. */
static void sort_rows(graph *g, int *rows, int *sorted)
{
    int *count = g->head, sum = 0;
    for (int k = 0; k <= g->n; k++) count[k] = 0;
    for (int i = 0; i < g->n; i++) {
        int root = i;
        while (g->parent[root] >= 0) root = g->parent[root];
        for (int j = i, up; g->parent[j] >= 0 && j != root; j = up) {
            up = g->parent[j];
            g->parent[j] = root;
        }
        g->key[i] = g->place[root];
        count[g->key[i]]++;
    }
    for (int k = 0; k <= g->n; k++) {
        int c = count[k];
        count[k] = sum;
        sum += c;
    }
    for (int i = 0; i < g->n; i++) sorted[count[g->key[i]]++] = rows[i];
    memcpy(rows, sorted, (size_t)g->n * sizeof *rows);
}

static int order_block(graph *g, const pattern *p, int *rows, int n, int *local)
{
    for (int i = 0; i < n; i++) local[rows[i]] = i;
    if (!fill_graph(g, p, rows, n, local)) return 0;
    while (g->left > 0)
        if (!eliminate(g)) return 0;
    for (int i = 0; i < n; i++) local[rows[i]] = -1;
    sort_rows(g, rows, p->chosen);
    return 1;
}

static int order_blocks(const pattern *p, perp__sparse_order *order, perp__arena *arena)
{
    graph g;
    int most = 0, *local = p->seen;
    for (int b = 0; b < order->nblock; b++) {
        int n = order->block[b + 1] - order->block[b];
        if (n > most) most = n;
    }
    if (most < 3) return 1;
    if (!create_graph(&g, most, arena)) return 0;
    for (int i = 0; i < p->n; i++) local[i] = -1;
    for (int b = 0; b < order->nblock; b++) {
        int n = order->block[b + 1] - order->block[b];
        if (n > 2 && !order_block(&g, p, order->row + order->block[b], n, local)) return 0;
    }
    return 1;
}

int perp__sparse_order_find(int n, const int *start, const int *column, perp__sparse_order *order)
{
    perp__arena arena = {0};
    pattern p = {.n = n, .start = start, .column = column};
    PERP_TAKE(&arena, p.row_of, n + 1);
    PERP_TAKE(&arena, p.seen, n + 1);
    PERP_TAKE(&arena, p.at, n + 1);
    PERP_TAKE(&arena, p.stack, 3 * (size_t)n + 1);
    PERP_TAKE(&arena, p.chosen, n + 1);
    int ok = !arena.failed;
    if (ok) {
        order->rank = match(&p);
        find_components(&p, order);
        ok = order_blocks(&p, order, &arena);
    }
    if (ok) {
        int *column_of = p.at;
        for (int j = 0; j < n; j++) column_of[p.row_of[j]] = j;
        for (int k = 0; k < n; k++) order->column[k] = column_of[order->row[k]];
    }
    perp__arena_clear(&arena);
    return ok;
}
