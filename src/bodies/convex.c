/* The distance of two convex cores and its normal: the largest least distance s(n) over all n.
 * Cores apart: the algorithm of Gilbert, Johnson and Keerthi. Penetrating cores: an expanding
 * polytope inside their difference. Its faces may also leave the origin outside, so that contact
 * is no special case. The nearest points of bodies in contact determine n poorly. The cores are
 * therefore moved apart along n, and the nearest points are taken there, until n does not change. n
 * remains the best direction. */

#include "bodies/geometry.h"
#include "bodies/space.h"

#include <string.h>

enum { MOST_VERTICES = 200, MOST_FACES = 2 * MOST_VERTICES, MOST_STEPS = 100, MOST_MOVES = 40 };
static const double ROUNDING = 4e-16, /* beside the size */
    NEAR = 1e-3, CLEAR = 1e-3;        /* nearer than this they are moved apart by that */

/* A point of the difference B - A, and the one of A that it is made of; less A's origin. */
typedef struct vertex {
    double w[3], a[3];
} vertex;

typedef struct pair {
    const perp__placed *a, *b;
    double t[3]; /* origin of B from that of A, at its placed position */
    double size; /* of the two */
    int is_curved;
} pair;

/* The vertex of B - A furthest along d. */
static vertex support(const pair *x, const double *d)
{
    vertex v;
    double back[3] = {-d[0], -d[1], -d[2]};
    perp__shape_support(x->b, d, v.w);
    perp__move3(v.w, 1, x->t, v.w);
    perp__shape_support(x->a, back, v.a);
    perp__move3(v.w, -1, v.a, v.w);
    return v;
}

static int is_curved(const perp_shape *s)
{
    return s->kind == PERP_SHAPE_CYLINDER || s->kind == PERP_SHAPE_ELLIPSOID;
}

static pair pair_of(const perp__placed *a, const perp__placed *b)
{
    pair x = {.a = a, .b = b};
    perp__move3(b->p, -1, a->p, x.t);
    x.size = fmin(perp__shape_extent(a->shape), perp__shape_extent(b->shape));
    x.size = fmax(x.size, 1e-3 * fmax(perp__shape_extent(a->shape), perp__shape_extent(b->shape)));
    x.is_curved = is_curved(a->shape) || is_curved(b->shape);
    return x;
}

double perp__apart(const perp__placed *a, const perp__placed *b, const double *n)
{
    pair x = pair_of(a, b);
    double back[3] = {-n[0], -n[1], -n[2]};
    vertex v = support(&x, back);
    return perp__dot3(v.w, n);
}

/* Nearest points ------------------------------------------------------------------------------- */

typedef struct simplex {
    vertex v[4];
    double share[4];
    int n;
} simplex;

/* The origin's foot on the plane of v[k]: the shares of them, which may be negative. Returns 0:
 * they are degenerate. */
static int foot(const simplex *s, const int *k, int n, double *share, double *x)
{
    const double *a = s->v[k[0]].w, *b = s->v[k[n > 1]].w, *c = s->v[k[n > 2 ? 2 : 0]].w;
    double u[3], w[3], m[3];
    share[0] = 1;
    memcpy(x, a, 3 * sizeof *x);
    if (n == 1) return 1;
    perp__move3(b, -1, a, u);
    if (n == 2) {
        double uu = perp__dot3(u, u);
        if (!(uu > 0)) return 0;
        share[1] = -perp__dot3(a, u) / uu;
        share[0] = 1 - share[1];
        perp__move3(a, share[1], u, x);
        return 1;
    }
    perp__move3(c, -1, a, w);
    perp__cross3(u, w, m);
    double mm = perp__dot3(m, m);
    if (!(mm > 1e-28 * perp__dot3(u, u) * perp__dot3(w, w))) return 0;
    perp__cross3(b, c, u);
    share[0] = perp__dot3(u, m) / mm;
    perp__cross3(c, a, u);
    share[1] = perp__dot3(u, m) / mm;
    share[2] = 1 - share[0] - share[1];
    for (int i = 0; i < 3; i++) x[i] = m[i] * (perp__dot3(a, m) / mm);
    return 1;
}

/* Is the origin within the four? */
static int surrounds(const simplex *s)
{
    if (s->n < 4) return 0;
    for (int i = 0; i < 4; i++) {
        const double *a = s->v[i].w, *b = s->v[(i + 1) % 4].w, *c = s->v[(i + 2) % 4].w,
                     *d = s->v[(i + 3) % 4].w;
        double u[3], w[3], m[3], to[3];
        perp__move3(b, -1, a, u);
        perp__move3(c, -1, a, w);
        perp__cross3(u, w, m);
        perp__move3(d, -1, a, to);
        double own = perp__dot3(to, m), origin = -perp__dot3(a, m);
        if (!(own * origin > 0)) return 0;
    }
    return 1;
}

/* The simplex becomes that part of it whose point x is nearest to the origin. */
static void reduce(simplex *s, double *x)
{
    simplex best = {.n = 0};
    double least = INFINITY;
    for (int set = 1; set < 1 << s->n; set++) {
        int k[4], n = 0;
        double share[4], p[3];
        for (int i = 0; i < s->n; i++)
            if (set >> i & 1) k[n++] = i;
        if (n > 3 || !foot(s, k, n, share, p)) continue;
        int inside = 1;
        for (int i = 0; i < n; i++) inside &= share[i] >= 0;
        double pp = perp__dot3(p, p);
        if (!inside || pp >= least) continue;
        least = pp;
        best.n = n;
        for (int i = 0; i < n; i++) {
            best.v[i] = s->v[k[i]];
            best.share[i] = share[i];
        }
        memcpy(x, p, sizeof p);
    }
    *s = best;
}

/* The direction of the nearest points, the distance that it proves; 0: none above 0. */
static int nearest(const pair *x, const double *start, perp__separation *out)
{
    simplex s = {.n = 0};
    double v[3] = {start[0], start[1], start[2]}, length = perp__length3(v), gap = INFINITY;
    out->distance = -INFINITY;
    for (int step = 0; step < MOST_STEPS && length > 0; step++) {
        double back[3] = {-v[0], -v[1], -v[2]};
        vertex w = support(x, back);
        double proved = perp__dot3(w.w, v) / length;
        if (proved > out->distance) {
            out->distance = proved;
            for (int i = 0; i < 3; i++) out->n[i] = v[i] / length;
        }
        if (s.n && gap - proved <= ROUNDING * (x->size + gap)) break;
        int is_there = 0;
        for (int i = 0; i < s.n; i++) is_there |= memcmp(s.v[i].w, w.w, sizeof w.w) == 0;
        if (is_there) break;
        simplex before = s;
        s.v[s.n++] = w;
        /* a direction that separates them proves that the origin is outside, whatever rounding
         * says */
        if (out->distance <= 0 && surrounds(&s)) return 0;
        reduce(&s, v);
        length = perp__length3(v);
        if (before.n && length >= gap) { /* rounding has the last word */
            s = before;
            break;
        }
        gap = length;
    }
    memset(out->x, 0, sizeof out->x);
    for (int i = 0; i < s.n; i++) perp__move3(out->x, s.share[i], s.v[i].a, out->x);
    return out->distance > 0;
}

/* Overlap -------------------------------------------------------------------------------------- */

typedef struct facet {
    int v[3], dead;
    double n[3], d;
} facet;

typedef struct polytope {
    vertex v[MOST_VERTICES];
    facet f[MOST_FACES];
    int nv, nf;
} polytope;

static int add_facet(polytope *p, int i, int j, int k)
{
    if (p->nf == MOST_FACES) return 0;
    facet *f = &p->f[p->nf];
    double u[3], w[3];
    *f = (facet){.v = {i, j, k}};
    perp__move3(p->v[j].w, -1, p->v[i].w, u);
    perp__move3(p->v[k].w, -1, p->v[i].w, w);
    perp__cross3(u, w, f->n);
    double area = perp__length3(f->n);
    for (int c = 0; c < 3; c++) f->n[c] = area > 0 ? f->n[c] / area : 0;
    f->d = area > 0 ? perp__dot3(f->n, p->v[i].w)
                    : (double)INFINITY; /* one of no area is never expanded */
    p->nf++;
    return 1;
}

/* Four vertices with a volume. Returns 0: the difference is flat. */
static int begin(const pair *x, polytope *p)
{
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                        around[8][2] = {{1, 0},  {1, 1},   {0, 1},  {-1, 1},
                                        {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
    double d[3] = {0}, best = 0, u[3], w[3];
    p->nv = p->nf = 0;
    for (int i = 0; i < 3; i++) { /* the longest of three chords */
        double back[3] = {-axes[i][0], -axes[i][1], -axes[i][2]};
        vertex one = support(x, axes[i]), other = support(x, back);
        perp__move3(one.w, -1, other.w, u);
        if (perp__length3(u) <= best) continue;
        best = perp__length3(u);
        memcpy(d, u, sizeof d);
        p->v[0] = one;
        p->v[1] = other;
    }
    double flat = 1e-12 * best;
    for (int i = 0; i < 3; i++) d[i] /= best;
    best = flat;
    double t[2][3], normal[3] = {0};
    perp__tangents3(d, t[0], t[1]);
    for (int i = 0; i < 8; i++) { /* the point furthest from it */
        double c[3];
        for (int k = 0; k < 3; k++) c[k] = around[i][0] * t[0][k] + around[i][1] * t[1][k];
        vertex one = support(x, c);
        perp__move3(one.w, -1, p->v[0].w, u);
        perp__cross3(d, u, w);
        if (perp__length3(w) <= best) continue;
        best = perp__length3(w);
        memcpy(normal, w, sizeof normal);
        p->v[2] = one;
    }
    if (best <= flat) return 0;
    for (int i = 0; i < 3; i++) normal[i] /= best;
    best = flat;
    for (int sign = -1; sign <= 1; sign += 2) {
        double c[3] = {sign * normal[0], sign * normal[1], sign * normal[2]};
        vertex one = support(x, c);
        perp__move3(one.w, -1, p->v[0].w, u);
        if (fabs(perp__dot3(u, normal)) <= best) continue;
        best = fabs(perp__dot3(u, normal));
        p->v[3] = one;
    }
    if (best <= flat) return 0;
    perp__move3(p->v[1].w, -1, p->v[0].w, u);
    perp__move3(p->v[2].w, -1, p->v[0].w, w);
    perp__cross3(u, w, normal);
    perp__move3(p->v[3].w, -1, p->v[0].w, u);
    if (perp__dot3(u, normal) > 0) {
        vertex swap = p->v[0];
        p->v[0] = p->v[1];
        p->v[1] = swap;
    }
    p->nv = 4;
    return add_facet(p, 0, 1, 2) && add_facet(p, 0, 3, 1) && add_facet(p, 1, 3, 2) &&
           add_facet(p, 2, 3, 0);
}

/* Put in a vertex above a facet: what it sees by more than rounding goes, a fan to the edge of that
 * comes. Returns 0: no room. */
static int expand(polytope *p, int from, const vertex *w, double tol)
{
    int edge[MOST_FACES][2], n = 0, kept = 0;
    if (p->nv == MOST_VERTICES) return 0;
    for (int i = 0; i < p->nf; i++) {
        facet *f = &p->f[i];
        f->dead = i == from || perp__dot3(f->n, w->w) > f->d + tol;
        for (int k = 0; k < 3 && f->dead; k++) { /* an edge of two dead facets goes with them */
            int start = f->v[k], to = f->v[(k + 1) % 3], e = 0;
            while (e < n && !(edge[e][0] == to && edge[e][1] == start)) e++;
            if (e < n) {
                memcpy(edge[e], edge[--n], sizeof edge[e]);
            } else if (n < MOST_FACES) {
                edge[n][0] = start;
                edge[n++][1] = to;
            }
        }
    }
    for (int i = 0; i < p->nf; i++)
        if (!p->f[i].dead) p->f[kept++] = p->f[i];
    if (!kept) return 0;
    p->nf = kept;
    p->v[p->nv++] = *w;
    for (int e = 0; e < n; e++)
        if (!add_facet(p, edge[e][0], edge[e][1], p->nv - 1)) return 0;
    return 1;
}

/* The face of the difference nearest to the origin: s(n) largest. */
static int overlap(const pair *x, perp__separation *out)
{
    const double FLAT = 1e-13,
                 COARSE = 1e-5; /* beside the size; of curved ones the rest is settled */
    polytope p;
    double tol = x->is_curved ? COARSE * x->size : 8 * ROUNDING * x->size;
    out->distance = -INFINITY;
    if (!begin(x, &p)) return 0;
    while (1) {
        int best = -1;
        for (int i = 0; i < p.nf; i++)
            if (isfinite(p.f[i].d) && (best < 0 || p.f[i].d < p.f[best].d)) best = i;
        if (best < 0) break;
        const facet f = p.f[best];
        vertex w = support(x, f.n);
        double reach = perp__dot3(w.w, f.n);
        if (-reach > out->distance) {
            out->distance = -reach;
            for (int i = 0; i < 3; i++) out->n[i] = -f.n[i];
            memcpy(out->x, w.a, sizeof out->x);
        }
        if (reach - f.d <= tol + 8 * ROUNDING * fabs(f.d) || !expand(&p, best, &w, FLAT * x->size))
            break;
    }
    return isfinite(out->distance);
}

/* B moved apart along n until nearest points say what n is: again until it stays. */
static void settle(const perp__placed *a, const perp__placed *b, perp__separation *s)
{
    const double SAME = 1e-13;
    pair x = pair_of(a, b);
    double t[3] = {x.t[0], x.t[1], x.t[2]}, back[3];
    for (int k = 0; k < MOST_MOVES; k++) {
        perp__separation next;
        double away = fmax(CLEAR * x.size - s->distance, 0), change[3];
        perp__move3(t, away, s->n, x.t);
        if (!nearest(&x, s->n, &next)) return;
        for (int i = 0; i < 3; i++) back[i] = -next.n[i];
        pair there = x;
        memcpy(there.t, t, sizeof t);
        vertex w = support(&there, back);
        next.distance = perp__dot3(w.w, next.n);
        if (next.distance < s->distance - ROUNDING * (x.size + fabs(s->distance)) * 10) return;
        perp__move3(next.n, -1, s->n, change);
        *s = next;
        if (perp__length3(change) < SAME) return;
    }
}

static void find(const perp__placed *a, const perp__placed *b, perp__separation *s)
{
    pair x = pair_of(a, b);
    double start[3] = {x.t[0], x.t[1], x.t[2]};
    if (!(perp__length3(start) > 0)) start[0] = 1;
    int is_apart = nearest(&x, start, s);
    if (is_apart && s->distance > NEAR * x.size) return;
    perp__separation own = *s;
    if (overlap(&x, s) && (!is_apart || s->distance > own.distance)) own = *s;
    *s = own;
    if (!isfinite(s->distance)) { /* both flat: a segment in a segment */
        memset(s, 0, sizeof *s);
        s->n[2] = 1;
        s->distance = perp__apart(a, b, s->n);
    }
    settle(a, b, s);
}

/* An ellipsoid's point is known by n alone, better than by the points that came near it. */
static void sharpen(const perp__placed *a, const perp__placed *b, perp__separation *s)
{
    double back[3] = {-s->n[0], -s->n[1], -s->n[2]}, from[3];
    if (a->shape->kind == PERP_SHAPE_ELLIPSOID) {
        perp__shape_support(a, s->n, s->x);
    } else if (b->shape->kind == PERP_SHAPE_ELLIPSOID) {
        perp__shape_support(b, back, s->x);
        perp__move3(b->p, -1, a->p, from);
        perp__move3(s->x, 1, from, s->x);
        perp__move3(s->x, -s->distance, s->n, s->x);
    }
}

void perp__separate(const perp__placed *a, const perp__placed *b, perp__separation *s)
{
    find(a, b, s);
    sharpen(a, b, s);
}
