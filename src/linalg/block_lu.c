/* The order, with the fill that it makes, from a quotient graph; then the numbers. */

#include "linalg/block_lu.h"

#include "base/arena.h"
#include "base/base.h"
#include "linalg/lu3.h"
#include "linalg/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Blocks of U and of the row being eliminated have rows of 4, the last a 0 that nobody reads: these
 * fill vector registers. */
enum { PADDED = 12 };

struct perp__block_lu {
    int n_max, n, m; /* rows of the pattern, active rows */
    int full;        /* rows of a full pattern that ustart .. lcol are of; 0: of another one */
    int *order;      /* m: node of position k */
    int *position;   /* n: position of a node, -1 if not active */
    int *ustart;     /* m + 1: row k of U holds the positions ucol[ustart[k]..] */
    int *ucol;
    int ucapacity;
    int *lstart, *lcol; /* rows of L, the transpose of U's pattern */
    int lcapacity;
    double *uval, *lval; /* 12 (rows of 4, see below) and 9 a block */
    int uvcapacity, lvcapacity;
    perp__lu3 *pivot; /* m: the diagonal blocks of U */
    double *row;      /* 12 m: the row being eliminated */
    double *rhs;      /* 3 m */
    double work;      /* multiply-adds */
    /* minimum degree */
    int *astart, *alen, *adj; /* variables next to each node */
    int adjcapacity;
    int *elen, *ecapacity; /* elements of each node */
    int **elist;
    int *degree, *mark, *next, *prev, *head;
};

perp__block_lu *perp__block_lu_create(int n_max)
{
    perp__block_lu *lu = calloc(1, sizeof *lu);
    if (!lu) return NULL;
    size_t n = (size_t)n_max + 1;
    lu->n_max = n_max;
    int **ints[] = {&lu->order, &lu->position, &lu->ustart,    &lu->lstart, &lu->astart,
                    &lu->alen,  &lu->elen,     &lu->ecapacity, &lu->degree, &lu->mark,
                    &lu->next,  &lu->prev,     &lu->head};
    int ok = 1;
    for (size_t k = 0; k < sizeof ints / sizeof *ints; k++)
        ok &= (*ints[k] = calloc(n, sizeof(int))) != NULL;
    ok &= (lu->elist = calloc(n, sizeof *lu->elist)) != NULL;
    ok &= (lu->pivot = calloc(n, sizeof *lu->pivot)) != NULL;
    ok &= (lu->row = calloc(PADDED * n, sizeof(double))) != NULL;
    ok &= (lu->rhs = calloc(3 * n, sizeof(double))) != NULL;
    if (ok) return lu;
    perp__block_lu_destroy(lu);
    return NULL;
}

void perp__block_lu_destroy(perp__block_lu *lu)
{
    if (!lu) return;
    if (lu->elist)
        for (int i = 0; i <= lu->n_max; i++) free(lu->elist[i]);
    void *all[] = {lu->order, lu->position, lu->ustart, lu->ucol,      lu->lstart, lu->lcol,
                   lu->uval,  lu->lval,     lu->pivot,  lu->row,       lu->rhs,    lu->astart,
                   lu->alen,  lu->adj,      lu->elen,   lu->ecapacity, lu->elist,  lu->degree,
                   lu->mark,  lu->next,     lu->prev,   lu->head};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    free(lu);
}

double perp__block_lu_work(perp__block_lu *lu)
{
    double work = lu->work;
    lu->work = 0;
    return work;
}

int perp__block_lu_fill(const perp__block_lu *lu)
{
    return lu->m ? lu->ustart[lu->m] : 0;
}

/* Doubly linked lists of nodes by degree. */
static void unlink_node(perp__block_lu *lu, int i)
{
    if (lu->prev[i] >= 0)
        lu->next[lu->prev[i]] = lu->next[i];
    else
        lu->head[lu->degree[i]] = lu->next[i];
    if (lu->next[i] >= 0) lu->prev[lu->next[i]] = lu->prev[i];
}

static void link_node(perp__block_lu *lu, int i, int degree)
{
    lu->degree[i] = degree;
    lu->prev[i] = -1;
    lu->next[i] = lu->head[degree];
    if (lu->next[i] >= 0) lu->prev[lu->next[i]] = i;
    lu->head[degree] = i;
}

/* The pattern made symmetric, without diagonal and inactive nodes: counting sort, twice each entry,
 * then duplicates removed. */
static int graph_build(perp__block_lu *lu, const int *start, const int *col)
{
    int n = lu->n;
    for (int i = 0; i <= n; i++) lu->astart[i] = 0;
    for (int i = 0; i < n; i++)
        for (int k = start[i]; k < start[i + 1]; k++) {
            int j = col[k];
            if (j == i || lu->position[i] < 0 || lu->position[j] < 0) continue;
            lu->astart[i]++;
            lu->astart[j]++;
        }
    int total = 0;
    for (int i = 0; i <= n; i++) {
        int count = i < n ? lu->astart[i] : 0;
        lu->astart[i] = total;
        total += count;
        lu->alen[i] = 0;
    }
    if (!perp__grow(&lu->adj, &lu->adjcapacity, total + 1, sizeof(int))) return 0;
    for (int i = 0; i < n; i++)
        for (int k = start[i]; k < start[i + 1]; k++) {
            int j = col[k];
            if (j == i || lu->position[i] < 0 || lu->position[j] < 0) continue;
            lu->adj[lu->astart[i] + lu->alen[i]++] = j;
            lu->adj[lu->astart[j] + lu->alen[j]++] = i;
        }
    for (int i = 0; i < n; i++) lu->mark[i] = -1;
    for (int i = 0; i < n; i++) {
        int *a = lu->adj + lu->astart[i], kept = 0;
        for (int k = 0; k < lu->alen[i]; k++)
            if (lu->mark[a[k]] != i) {
                lu->mark[a[k]] = i;
                a[kept++] = a[k];
            }
        lu->alen[i] = kept;
    }
    return 1;
}

/* Append to the list of elements of a node. */
static int element_add(perp__block_lu *lu, int i, int element)
{
    if (!perp__grow(&lu->elist[i], &lu->ecapacity[i], lu->elen[i] + 1, sizeof(int))) return 0;
    lu->elist[i][lu->elen[i]++] = element;
    return 1;
}

/* Minimum degree with quotient graph (George & Liu 1989; degrees bounded as in Amestoy, Davis &
 * Duff 1996). Element k is the k-th pivot. Its list of nodes is row k of U, so the fill comes for
 * free. */
static int minimum_degree(perp__block_lu *lu, const int *start, const int *col)
{
    int n = lu->n, m = lu->m;
    for (int i = 0; i < n; i++) {
        lu->elen[i] = 0;
        lu->head[i] = -1;
    }
    if (!graph_build(lu, start, col)) return 0;
    for (int i = n - 1; i >= 0; i--)
        if (lu->position[i] == 0) link_node(lu, i, lu->alen[i]);
    for (int i = 0; i < n; i++) lu->mark[i] = -1;
    int *alive = lu->lstart; /* 1 while element k is not absorbed */
    int stamp = 0, least = 0;
    lu->ustart[0] = 0;
    for (int k = 0; k < m; k++) {
        while (lu->head[least] < 0) least++;
        int p = lu->head[least];
        unlink_node(lu, p);
        lu->order[k] = p;
        lu->position[p] = -2 - k; /* eliminated */
        /* the new element: neighbours by variables and by elements */
        int at = lu->ustart[k], need = at + lu->alen[p];
        for (int e = 0; e < lu->elen[p]; e++) {
            int el = lu->elist[p][e];
            need += lu->ustart[el + 1] - lu->ustart[el];
        }
        if (!perp__grow(&lu->ucol, &lu->ucapacity, need + 1, sizeof(int))) return 0;
        stamp++;
        lu->mark[p] = stamp;
        for (int a = 0; a < lu->alen[p]; a++) {
            int j = lu->adj[lu->astart[p] + a];
            if (lu->position[j] == 0 && lu->mark[j] != stamp) {
                lu->mark[j] = stamp;
                lu->ucol[at++] = j;
            }
        }
        for (int e = 0; e < lu->elen[p]; e++) {
            int el = lu->elist[p][e];
            for (int t = lu->ustart[el]; t < lu->ustart[el + 1]; t++) {
                int j = lu->ucol[t];
                if (lu->position[j] == 0 && lu->mark[j] != stamp) {
                    lu->mark[j] = stamp;
                    lu->ucol[at++] = j;
                }
            }
            alive[el] = 0;
        }
        lu->ustart[k + 1] = at;
        alive[k] = 1;
        int size = at - lu->ustart[k];
        /* its nodes: drop what the element covers, bound the degree */
        for (int t = lu->ustart[k]; t < at; t++) {
            int i = lu->ucol[t], kept = 0;
            int *a = lu->adj + lu->astart[i];
            for (int s = 0; s < lu->alen[i]; s++)
                if (lu->position[a[s]] == 0 && lu->mark[a[s]] != stamp) a[kept++] = a[s];
            lu->alen[i] = kept;
            int degree = kept + size - 1, elements = 0;
            for (int e = 0; e < lu->elen[i]; e++) {
                int el = lu->elist[i][e];
                if (!alive[el]) continue;
                int outside = 0;
                for (int w = lu->ustart[el]; w < lu->ustart[el + 1]; w++) {
                    int j = lu->ucol[w];
                    outside += lu->position[j] == 0 && lu->mark[j] != stamp;
                }
                if (!outside) continue; /* covered by the new element */
                lu->elist[i][elements++] = el;
                degree += outside;
            }
            lu->elen[i] = elements;
            if (!element_add(lu, i, k)) return 0;
            if (degree > m - k - 2) degree = m - k - 2;
            unlink_node(lu, i);
            link_node(lu, i, degree);
            if (degree < least) least = degree;
        }
    }
    for (int i = 0; i < n; i++)
        if (lu->position[i] != -1) lu->position[i] = -2 - lu->position[i];
    return 1;
}

/* Rows of U ascending and rows of L, by transposing twice. */
static int transpose(perp__block_lu *lu)
{
    int m = lu->m;
    int fill = lu->ustart[m];
    if (!perp__grow(&lu->lcol, &lu->lcapacity, fill + 1, sizeof(int))) return 0;
    if (!perp__grow(&lu->uval, &lu->uvcapacity, fill + 1, PADDED * sizeof(double))) return 0;
    if (!perp__grow(&lu->lval, &lu->lvcapacity, fill + 1, 9 * sizeof(double))) return 0;
    int *count = lu->mark;
    for (int k = 0; k <= m; k++) lu->lstart[k] = 0;
    for (int t = 0; t < fill; t++) lu->lstart[lu->position[lu->ucol[t]] + 1]++;
    for (int k = 0; k < m; k++) lu->lstart[k + 1] += lu->lstart[k];
    for (int k = 0; k < m; k++) count[k] = lu->lstart[k];
    for (int k = 0; k < m; k++)
        for (int t = lu->ustart[k]; t < lu->ustart[k + 1]; t++)
            lu->lcol[count[lu->position[lu->ucol[t]]]++] = k;
    for (int k = 0; k < m; k++) count[k] = lu->ustart[k];
    for (int i = 0; i < m; i++)
        for (int t = lu->lstart[i]; t < lu->lstart[i + 1]; t++) lu->ucol[count[lu->lcol[t]]++] = i;
    return 1;
}

/* Has every active row a block in every active column? Then any order is as good as any other. */
static int is_full(const perp__block_lu *lu, const int *start, const int *col)
{
    for (int i = 0; i < lu->n; i++) {
        int count = 0;
        if (lu->position[i] < 0) continue;
        for (int k = start[i]; k < start[i + 1]; k++) count += lu->position[col[k]] == 0;
        if (count < lu->m) return 0;
    }
    return 1;
}

/* All that is above the diagonal, in the order of the rows. */
static int fill_all(perp__block_lu *lu)
{
    int at = 0, m = lu->m;
    if (!perp__grow(&lu->ucol, &lu->ucapacity, m * (m - 1) / 2 + 1, sizeof(int))) return 0;
    lu->ustart[0] = 0;
    for (int k = 0; k < m; k++) {
        for (int j = k + 1; j < m; j++) lu->ucol[at++] = lu->order[j];
        lu->ustart[k + 1] = at;
    }
    return 1;
}

/* The order of the rows; the pattern of the last time where it was full and as large. */
static int order_full(perp__block_lu *lu)
{
    for (int i = 0, k = 0; i < lu->n; i++) {
        if (lu->position[i] < 0) continue;
        lu->order[k] = i;
        lu->position[i] = k++;
    }
    if (lu->full == lu->m) return 1;
    lu->full = 0;
    if (!fill_all(lu) || !transpose(lu)) return 0;
    lu->full = lu->m;
    return 1;
}

int perp__block_lu_order(perp__block_lu *lu, int n, const int *start, const int *col,
                         const int *active)
{
    PERP_ASSERT(n <= lu->n_max);
    lu->n = n;
    lu->m = 0;
    for (int i = 0; i < n; i++) {
        lu->position[i] = !active || active[i] ? 0 : -1;
        lu->m += lu->position[i] == 0;
    }
    if (is_full(lu, start, col)) return order_full(lu);
    lu->full = 0;
    return minimum_degree(lu, start, col) && transpose(lu);
}

/* row[to[s]] -= a u[s] for n blocks, a row by row, for every vector width (simd.h). */
#define FOUR_plain  PERP_LANES(plain)
#define FOUR_avx2   PERP_LANES(avx2)
#define FOUR_avx512 PERP_LANES(avx2)
#define SUBTRACT(isa, target)                                                                      \
    target static void subtract_##isa(double *row, const double *a, const double *u,               \
                                      const int *to, int n)                                        \
    {                                                                                              \
        enum { PARTS = (int)(4 * sizeof(double) / sizeof(FOUR_##isa)) };                           \
        double l[9]; /* not in memory that a row may be in */                                      \
        memcpy(l, a, sizeof l);                                                                    \
        for (int s = 0; s < n; s++, u += PADDED) {                                                 \
            FOUR_##isa *c = (FOUR_##isa *)(row + PADDED * (size_t)to[s]);                          \
            const FOUR_##isa *b = (const FOUR_##isa *)u;                                           \
            for (int p = 0; p < PARTS; p++) {                                                      \
                FOUR_##isa x = b[p], y = b[PARTS + p], z = b[2 * PARTS + p];                       \
                c[p] -= l[0] * x + l[1] * y + l[2] * z;                                            \
                c[PARTS + p] -= l[3] * x + l[4] * y + l[5] * z;                                    \
                c[2 * PARTS + p] -= l[6] * x + l[7] * y + l[8] * z;                                \
            }                                                                                      \
        }                                                                                          \
    }
PERP_ISA_LIST(SUBTRACT)

typedef void subtract_function(double *, const double *, const double *, const int *, int);

static subtract_function *subtract_for_this_machine(void)
{
#define NAME(isa, target) subtract_##isa,
    static subtract_function *const versions[] = {PERP_ISA_LIST(NAME)};
#undef NAME
    return versions[perp__isa()];
}

static inline void pad(double *restrict to, const double *restrict block)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) to[4 * i + j] = j < 3 ? block[3 * i + j] : 0;
}

static inline void unpad(double *restrict block, const double *restrict from)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) block[3 * i + j] = from[4 * i + j];
}

int perp__block_lu_factor(perp__block_lu *lu, const int *start, const int *col, const double *value,
                          double tiny)
{
    int m = lu->m, replaced = 0;
    long products = lu->m; /* an inverse is one */
    double *row = lu->row, block[9];
    subtract_function *subtract = subtract_for_this_machine();
    for (int i = 0; i < m; i++) {
        int node = lu->order[i], ui = lu->ustart[i], length = lu->ustart[i + 1] - ui;
        memset(row + PADDED * (size_t)i, 0, PADDED * sizeof(double));
        for (int t = lu->lstart[i]; t < lu->lstart[i + 1]; t++)
            memset(row + PADDED * (size_t)lu->lcol[t], 0, PADDED * sizeof(double));
        for (int t = 0; t < length; t++)
            memset(row + PADDED * (size_t)lu->ucol[ui + t], 0, PADDED * sizeof(double));
        for (int k = start[node]; k < start[node + 1]; k++)
            if (lu->position[col[k]] >= 0)
                pad(row + PADDED * (size_t)lu->position[col[k]], value + 9 * (size_t)k);
        unpad(block, row + PADDED * (size_t)i);
        double size = 0;
        for (int e = 0; e < 9; e++) size = fmax(size, fabs(block[e]));
        for (int t = lu->lstart[i]; t < lu->lstart[i + 1]; t++) {
            int k = lu->lcol[t], uk = lu->ustart[k];
            double *l = lu->lval + 9 * (size_t)t;
            unpad(l, row + PADDED * (size_t)k);
            for (int a = 0; a < 3; a++) perp__lu3_solve_left(&lu->pivot[k], l + 3 * (size_t)a);
            subtract(row, l, lu->uval + PADDED * (size_t)uk, lu->ucol + uk, lu->ustart[k + 1] - uk);
            products += 1 + lu->ustart[k + 1] - uk;
        }
        unpad(block, row + PADDED * (size_t)i);
        replaced += perp__lu3_factor(block, tiny * size, &lu->pivot[i]);
        for (int t = ui; t < ui + length; t++)
            memcpy(lu->uval + PADDED * (size_t)t, row + PADDED * (size_t)lu->ucol[t],
                   PADDED * sizeof(double));
    }
    lu->work += 27 * (double)products;
    return replaced;
}

/* y -= a x, a with rows of `wide` */
static inline void block_apply(double *restrict y, const double *restrict a, int wide,
                               const double *restrict x)
{
    for (int i = 0; i < 3; i++, a += wide) y[i] -= a[0] * x[0] + a[1] * x[1] + a[2] * x[2];
}

void perp__block_lu_solve(perp__block_lu *lu, double *x)
{
    int m = lu->m;
    double *b = lu->rhs;
    lu->work += 9 * (2.0 * perp__block_lu_fill(lu) + m);
    for (int i = 0; i < m; i++) {
        double *bi = b + 3 * (size_t)i;
        memcpy(bi, x + 3 * (size_t)lu->order[i], 3 * sizeof(double));
        for (int t = lu->lstart[i]; t < lu->lstart[i + 1]; t++)
            block_apply(bi, lu->lval + 9 * (size_t)t, 3, b + 3 * (size_t)lu->lcol[t]);
    }
    for (int i = m - 1; i >= 0; i--) {
        double *bi = b + 3 * (size_t)i;
        for (int t = lu->ustart[i]; t < lu->ustart[i + 1]; t++)
            block_apply(bi, lu->uval + PADDED * (size_t)t, 4, b + 3 * (size_t)lu->ucol[t]);
        perp__lu3_solve(&lu->pivot[i], bi);
        memcpy(x + 3 * (size_t)lu->order[i], bi, 3 * sizeof(double));
    }
}
