/* Contacts that are open leave the step (docs/adr/022): a step without them, their forces 0, is solved as a problem of its own, and
 * its answer judged by all conditions as they were written. If one does not hold, the whole step is solved. */

#include "base/tol.h"
#include "simulate/step.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A contact may leave where it is not expected to close within so many steps, and does while it is not expected to close in the next;
 * a new smaller problem is made no more often than that, and MOST of them; one that fails so often in turn is given up. */
enum { AHEAD = 10, APART = 8, MOST = 24, STRIKES = 5 };

/* Where a new problem failed before that, bodies collide: a contact then leaves only where none is fast enough to close it within so
 * many steps, and a new problem is made after two. */
enum { COLLIDING = 1, APART_COLLIDING = 2 };

/* It pays from this part of the unknowns on: all conditions are evaluated once more. After so FEW problems, which may be met again, a new
 * one must have this part less than the smallest that serves: it takes several steps' time. */
enum { WORTH = 6, FEW = 8 };

/* A gap is open where it is more than this share of its terms. */
#define CLEAR 1e-8

/* One smaller problem with its numbers. */
typedef struct part {
    char *out;         /* of each group: has it left? */
    int size, strikes; /* how many conditions have left; failures in turn */
    perp_model model;  /* its equations, pairs and contacts */
    perp__step step;
    int *from;  /* ny of the whole: slot of the part's workspace; -1 it has none */
    int *start; /* ny of the part: slot of the whole's */
    int *pair;  /* np of the part: pair of the whole */
    int *root;  /* root of the check's tape: that of the part's, or -1 */
} part;

struct perp__open {
    double *gap, *before; /* of each group, at the end of the last step and of the one before */
    char *is_open;        /* its force was 0 and its gap was not */
    char *far;            /* may leave now */
    int known;            /* how many steps the gaps are known of, up to 2 */
    int since;            /* steps since the last part was made */
    int hasty;            /* how many failed soon after they were made */
    part *part[MOST];
    int n, made; /* in use; and with those of earlier runs behind them */
    int last;    /* the part that was used last: only that has anything of earlier steps; -1 */
};

/* Which contacts can leave --------------------------------------------------------------------- */

static int is_var(const perp_model *m, const int *var_of, perp_expr e)
{
    return m->graph.node[e].op == PERP__SYMBOL && var_of[m->graph.node[e].a] >= 0;
}

/* Is all that states a contact of a form in which force 0 is a var that is 0? */
static int can_leave(const perp_model *m, const int *var_of, const perp__contact *c)
{
    const perp__pair *normal = &m->pair[c->normal];
    if (c->guard >= 0 || !is_var(m, var_of, c->side ? normal->b : normal->a)) return 0;
    if (c->kind == PERP__CONTACT_CONE)
        return is_var(m, var_of, c->f[0]) && is_var(m, var_of, c->f[1]) && c->f[0] != c->f[1];
    return is_var(m, var_of, m->pair[c->pair].a);
}

/* The side of each pair that is its force; -1: it cannot leave. */
static void find_sides(const perp_model *m, const int *var_of, int *side)
{
    for (int i = 0; i < m->npair; i++) {
        const perp__pair *q = &m->pair[i];
        int is_alone = !q->two_sided && q->guard < 0 && q->contact < 0;
        side[i] = !is_alone ? -1 : is_var(m, var_of, q->a) ? 0 : is_var(m, var_of, q->b) ? 1 : -1;
    }
    for (int pass = 0; pass < 2; pass++) { /* two contacts may have one normal */
        for (int i = 0; i < m->ncontact; i++) {
            const perp__contact *c = &m->contact[i];
            if (c->normal < 0 || side[c->normal] < 0) continue;
            if (!can_leave(m, var_of, c) || (pass && side[c->normal] != c->side))
                side[c->normal] = -1;
            else
                side[c->normal] = c->side;
        }
    }
}

/* Places of the pairs in the check's tape and among the step's pairs. */
static void find_places(perp__step *s)
{
    perp__groups *g = &s->groups;
    int root = 2 * s->nown, p = 0;
    for (int i = 0; i < s->model->npair; i++) {
        int two = s->model->pair[i].two_sided;
        g->root[i] = root, g->first[i] = p;
        root += two ? 4 : 2, p += two ? 2 : 1;
    }
}

static int group_of_contact(const perp__groups *g, const perp_model *m, int contact)
{
    return m->contact[contact].normal < 0 ? -1 : g->of[m->contact[contact].normal];
}

static int group_of(const perp__groups *g, const perp_model *m, int pair)
{
    int c = m->pair[pair].contact;
    return c < 0 ? g->of[pair] : group_of_contact(g, m, c);
}

/* How many conditions leave with each group; a line has two splits. */
static void find_sizes(const perp_model *m, perp__groups *g)
{
    for (int i = 0; i < m->npair; i++) {
        int of = group_of(g, m, i);
        if (of >= 0) g->size[of] += m->pair[i].two_sided ? 3 : 1;
    }
    for (int i = 0; i < m->ncontact; i++) {
        int of = group_of_contact(g, m, i);
        if (of >= 0 && m->contact[i].kind == PERP__CONTACT_CONE) g->size[of] += 2;
    }
}

static void find_slips(perp__step *s, const int *var_of)
{
    const perp_model *m = s->model;
    for (int i = 0; i < m->ncontact; i++) {
        const perp__contact *c = &m->contact[i];
        perp_expr slip = c->kind == PERP__CONTACT_CONE ? -1 : m->pair[c->pair].a;
        int is_slip = slip >= 0 && is_var(m, var_of, slip);
        s->groups.slip[i] = is_slip ? s->sym.var_at[var_of[m->graph.node[slip].a]] : -1;
    }
}

int perp__groups_find(perp__step *s)
{
    const perp_model *m = s->model;
    size_t np = (size_t)m->npair, nsymbol = (size_t)m->nsymbol;
    perp__groups *g = &s->groups;
    int *var_of = malloc((nsymbol + np + 1) * sizeof(int));
    g->pair = calloc(6 * np + (size_t)m->ncontact + 1, sizeof(int));
    int ok = var_of && g->pair;
    if (ok) {
        int *side = var_of + nsymbol;
        g->side = g->pair + np, g->of = g->side + np, g->root = g->of + np;
        g->first = g->root + np, g->size = g->first + np, g->slip = g->size + np;
        for (size_t k = 0; k < nsymbol; k++) var_of[k] = -1;
        for (int v = 0; v < m->nitem[PERP_VAR]; v++) var_of[m->item[PERP_VAR][v].symbol] = v;
        find_sides(m, var_of, side);
        find_places(s);
        for (int i = 0; i < m->npair; i++) {
            g->of[i] = side[i] < 0 ? -1 : g->n;
            if (side[i] >= 0) g->pair[g->n] = i, g->side[g->n++] = side[i];
        }
        find_sizes(m, g);
        find_slips(s, var_of);
    }
    free(var_of);
    return ok;
}

/* The smaller model --------------------------------------------------------------------------- */

static void push_zero(perp_model *to, perp_expr var, int at, const char *text)
{
    to->equation[to->nequation++] = (perp__equation){var, 0, at, text, -1, NULL}; /* node 0 is 0 */
}

/* Pairs and contacts that stay, with their new numbers; those that leave become equations `force = 0`. */
static void reduce_model(const perp__step *s, const char *out, perp_model *to, int *pair_at,
                         int *contact_at)
{
    const perp_model *m = s->model;
    const perp__groups *g = &s->groups;
    to->npair = to->ncontact = to->nfriction = 0;
    for (int i = 0; i < m->npair; i++) {
        int of = group_of(g, m, i), leaves = of >= 0 && out[of];
        const perp__pair *q = &m->pair[i];
        pair_at[i] = leaves ? -1 : to->npair;
        if (leaves)
            push_zero(to, g->of[i] >= 0 && g->side[of] ? q->b : q->a, q->at, q->text);
        else
            to->pair[to->npair++] = *q;
    }
    for (int i = 0; i < m->ncontact; i++) {
        const perp__contact *c = &m->contact[i];
        int of = group_of_contact(g, m, i), leaves = of >= 0 && out[of];
        contact_at[i] = leaves ? -1 : to->ncontact;
        for (int k = 0; k < 2 && leaves && c->kind == PERP__CONTACT_CONE; k++)
            push_zero(to, c->f[k], c->at, c->text);
        if (leaves) continue;
        to->nfriction += i < m->nfriction;
        to->contact[to->ncontact++] = *c;
    }
}

static int moved(const int *at, int i)
{
    return i < 0 ? -1 : at[i];
}

/* The places that they have in the smaller model. */
static void renumber(perp_model *to, const int *pair_at, const int *contact_at,
                     const int *equation_at)
{
    for (int i = 0; i < to->npair; i++)
        to->pair[i].contact = moved(contact_at, to->pair[i].contact);
    for (int i = 0; i < to->nequation; i++)
        to->equation[i].contact = moved(contact_at, to->equation[i].contact);
    for (int i = 0; i < to->ncontact; i++) {
        perp__contact *c = &to->contact[i];
        c->normal = moved(pair_at, c->normal), c->pair = moved(pair_at, c->pair);
        c->equation = moved(equation_at, c->equation);
        for (int k = 0; k < 2 && c->kind == PERP__CONTACT_SPLIT; k++)
            c->force[k] = moved(pair_at, c->force[k]);
    }
}

/* The equations but those of cones that leave; which of them move what a gap reads stays as it is. */
static void keep_equations(const perp__step *s, const char *out, perp_model *to, char *damped,
                           int *equation_at)
{
    const perp_model *m = s->model;
    to->nequation = 0;
    for (int i = 0; i < m->nequation; i++) {
        int cone = perp__cone_of(m, i), of = cone < 0 ? -1 : group_of_contact(&s->groups, m, cone),
            leaves = of >= 0 && out[of];
        equation_at[i] = leaves ? -1 : to->nequation;
        if (leaves) continue;
        damped[to->nequation] = s->gaps.damped[i];
        to->equation[to->nequation++] = m->equation[i];
    }
}

int perp__reduced_build(perp__step *to, perp_model *model, const perp__step *s, const char *out,
                        const perp__changes *changes)
{
    const perp_model *m = s->model;
    size_t np = (size_t)m->npair, nc = (size_t)m->ncontact, ne = (size_t)m->nequation + np + 2 * nc;
    *model = *m;
    model->equation = malloc((ne + 1) * sizeof *model->equation);
    model->pair = malloc((np + 1) * sizeof *model->pair);
    model->contact = malloc((nc + 1) * sizeof *model->contact);
    to->gaps.side = calloc(np + 1, 1);
    to->gaps.damped = calloc(ne + 1, 1);
    int *at = malloc((np + nc + (size_t)m->nequation + 1) * sizeof(int));
    int ok =
        model->equation && model->pair && model->contact && to->gaps.side && to->gaps.damped && at;
    if (ok) {
        int *contact_at = at + np, *equation_at = contact_at + nc;
        keep_equations(s, out, model, to->gaps.damped, equation_at);
        reduce_model(s, out, model, at, contact_at);
        renumber(model, at, contact_at, equation_at);
        for (int i = 0; i < m->npair; i++)
            if (at[i] >= 0) to->gaps.side[at[i]] = s->gaps.side[i];
        to->gaps.n = s->gaps.n;
        to->h = s->h, to->scheme = s->scheme;
        to->nonlinear = 1; /* its steps may be halved */
        ok = perp__problem_build(to, model, changes);
    }
    free(at);
    return ok;
}

void perp__reduced_clear(perp_model *model)
{
    free(model->equation);
    free(model->pair);
    free(model->contact);
}

/* Parts ---------------------------------------------------------------------------------------- */

static void free_part(part *p)
{
    if (!p) return;
    perp__step_clear(&p->step);
    free(p->from);
    free(p->out);
    free(p);
}

/* The first unknown behind the vars: the splits of two-sided pairs, two each. */
static int first_split(const perp__step *s)
{
    return s->nx + s->nv;
}

/* Where each number of the one workspace stands in the other. */
static void connect(const perp__step *s, part *p)
{
    const perp__step *to = &p->step;
    const perp__groups *g = &s->groups;
    for (int j = 0; j < s->ny; j++) p->from[j] = j < s->nx ? to->sym.y + j : -1;
    for (int j = 0; j < to->ny; j++) p->start[j] = s->sym.y + j;
    for (int k = 0; k < s->nv; k++)
        p->from[s->nx + k] = to->sym.y + to->sym.var_at[s->sym.var_of[k]];
    for (int k = 0; k < to->nv; k++)
        p->start[to->nx + k] = s->sym.y + s->sym.var_at[to->sym.var_of[k]];
    int split = first_split(s), own = first_split(to), n = 0;
    for (int i = 0; i < s->model->npair; i++) {
        int of = group_of(g, s->model, i), stays = of < 0 || !p->out[of],
            two = s->model->pair[i].two_sided;
        for (int k = 0; k < 1 + two && stays; k++) p->pair[n++] = g->first[i] + k;
        for (int k = 0; k < 2 * two; k++, split++) {
            if (stays) p->from[split] = to->sym.y + own, p->start[own++] = s->sym.y + split;
        }
    }
}

/* Which roots of the check's tapes are the same: two of an equation, two or four of a pair, five of a cone. */
static void connect_roots(const perp__step *s, part *p)
{
    const perp_model *m = s->model;
    const perp__groups *g = &s->groups;
    int *root = p->root, n = 0, at = 2 * p->step.nown, row = 0;
    for (int k = 0; k < s->tape.check.nout; k++) root[k] = -1;
    for (int i = 0; i < m->nequation; i++) {
        int cone = perp__cone_of(m, i), of = cone < 0 ? -1 : group_of_contact(g, m, cone),
            own = of >= 0 && p->out[of] ? -1 : perp__equation_row(&p->step, n++);
        if (row == s->nown || s->marks.equation[row] != i) continue;
        if (own >= 0) root[2 * row] = 2 * own, root[2 * row + 1] = 2 * own + 1;
        row++;
    }
    int whole = 2 * s->nown;
    for (int i = 0; i < m->npair; i++) {
        int of = group_of(g, m, i), stays = of < 0 || !p->out[of];
        for (int k = m->pair[i].two_sided ? 4 : 2; k > 0; k--, whole++)
            if (stays) root[whole] = at++;
    }
    for (int i = 0; i < m->nfriction; i++) {
        int of = group_of_contact(g, m, i), stays = of < 0 || !p->out[of];
        for (int k = m->contact[i].kind == PERP__CONTACT_CONE ? 5 : 0; k > 0; k--, whole++)
            if (stays) root[whole] = at++;
    }
}

/* NULL when memory is out, where the model has changed since the step was made, or where the part is larger than the whole. */
static part *make_part(perp__step *s, const char *out)
{
    size_t n = (size_t)s->groups.n, ny = (size_t)s->ny, np = (size_t)s->np;
    part *p = calloc(1, sizeof *p);
    if (p) p->out = malloc(n + 1);
    perp_status status = p && p->out ? PERP_OK : PERP_ERR_MEMORY;
    if (status == PERP_OK) {
        memcpy(p->out, out, n);
        for (size_t k = 0; k < n; k++) p->size += out[k] ? s->groups.size[k] : 0;
        status = perp__step_create_reduced(&p->step, &p->model, s, out);
    }
    if (status == PERP_OK) {
        p->from =
            malloc((ny + np + (size_t)p->step.ny + (size_t)s->tape.check.nout + 1) * sizeof(int));
        if (!p->from) status = PERP_ERR_MEMORY;
    }
    if (status == PERP_OK && perp__step_bytes(&p->step) > perp__step_bytes(s))
        status = PERP_ERR_UNAVAILABLE;
    if (status != PERP_OK) {
        s->out_of_memory |= status == PERP_ERR_MEMORY;
        free_part(p);
        return NULL;
    }
    p->start = p->from + ny, p->pair = p->start + p->step.ny, p->root = p->pair + np;
    connect(s, p);
    connect_roots(s, p);
    return p;
}

int perp__open_make(perp__step *s)
{
    size_t n = (size_t)s->groups.n;
    if (n == 0) return 1;
    struct perp__open *o = s->groups.open = calloc(1, sizeof *o);
    if (!o) return 0;
    o->gap = calloc(2 * n, sizeof(double));
    o->is_open = calloc(2 * n, 1);
    if (!o->gap || !o->is_open) return 0;
    o->before = o->gap + n, o->far = o->is_open + n;
    o->last = -1;
    return 1;
}

void perp__open_free(perp__step *s)
{
    struct perp__open *o = s->groups.open;
    if (!o) return;
    for (int k = 0; k < o->made; k++) free_part(o->part[k]);
    free(o->gap);
    free(o->is_open);
    free(o);
    s->groups.open = NULL;
}

/* What is known of gaps is of the run that ends here; so is which parts are in use. */
void perp__open_forget(perp__step *s)
{
    struct perp__open *o = s->groups.open;
    if (o) o->n = o->known = o->since = o->hasty = 0, o->last = -1;
}

/* Solving -------------------------------------------------------------------------------------- */

/* Do all groups that p leaves out stay open for a step, as far as is known? */
static int serves(const struct perp__open *o, const part *p, int n)
{
    for (int k = 0; k < n; k++)
        if (p->out[k] && !(o->is_open[k] && 2 * o->gap[k] - o->before[k] > 0)) return 0;
    return p->strikes < STRIKES;
}

/* The part that was made first is made no use of any more. */
static void drop_oldest(struct perp__open *o)
{
    free_part(o->part[0]);
    memmove(o->part, o->part + 1, (size_t)(--o->made) * sizeof *o->part);
    o->n--;
    o->last = o->last < 0 ? -1 : o->last - 1;
}

/* The part without these becomes the next in use: one of an earlier run, or made now. NULL: there is none. */
static part *add_part(perp__step *s, const char *out)
{
    struct perp__open *o = s->groups.open;
    int k = o->n;
    while (k < o->made && memcmp(o->part[k]->out, out, (size_t)s->groups.n) != 0) k++;
    part *p = k < o->made ? o->part[k] : make_part(s, out);
    if (!p) return NULL;
    if (o->n == MOST) drop_oldest(o), k--;
    if (k == MOST) free_part(o->part[--k]);
    o->made += k == o->made;
    o->part[k] = o->part[o->n];
    p->strikes = 0;
    return o->part[o->n++] = p;
}

/* The most that a gap became smaller in the last step. */
static double fastest(const struct perp__open *o, int n)
{
    double most = 0;
    for (int k = 0; k < n; k++) most = fmax(most, o->before[k] - o->gap[k]);
    return most;
}

/* May a part be made now? */
static int is_time(const struct perp__open *o, int best)
{
    return o->n == 0 || o->since >= APART ||
           (best < 0 && o->hasty >= COLLIDING && o->since >= APART_COLLIDING);
}

/* The smallest part that may serve. */
static int choose_part(perp__step *s)
{
    struct perp__open *o = s->groups.open;
    int n = s->groups.n, most = 0, far = 0, best = -1;
    for (int i = 0; i < o->n; i++) {
        if (o->part[i]->size > most && serves(o, o->part[i], n)) best = i, most = o->part[i]->size;
    }
    double reach = o->hasty >= COLLIDING ? AHEAD * fastest(o, n) : 0;
    for (int k = 0; k < n; k++) {
        o->far[k] = o->is_open[k] && o->gap[k] > reach &&
                    o->gap[k] + AHEAD * (o->gap[k] - o->before[k]) > 0;
        far += o->far[k] ? s->groups.size[k] : 0;
    }
    o->since++;
    int beside = o->made < FEW ? 0 : most;
    if (far <= most || (far - beside) * WORTH < s->ny - beside || !is_time(o, best)) return best;
    o->since = 0;
    return add_part(s, o->far) ? o->n - 1 : best;
}

/* Parameters that have changed make its matrices others; a part that was not used in the step before begins anew. */
static void take_parameters(const perp__step *s, part *p, int is_new)
{
    perp__step *to = &p->step;
    size_t bytes = (size_t)s->sym.varied.n * sizeof(double);
    double *own = to->ws + perp__step_parameter(to, 0);
    const double *value = s->ws + perp__step_parameter(s, 0);
    if (is_new) perp__step_forget(to);
    if (!is_new && to->h == s->h && (!bytes || memcmp(own, value, bytes) == 0)) return;
    if (bytes) memcpy(own, value, bytes);
    to->h = s->h;
    perp__step_revalue(to);
    for (int k = 0; k < to->np && is_new; k++) to->choice[k] = s->choice[p->pair[k]];
}

/* Data and a first guess for the part. */
static void begin_part(perp__step *s, part *p, int is_new)
{
    perp__step *to = &p->step;
    take_parameters(s, p, is_new);
    memcpy(to->ws, s->ws, (size_t)s->sym.y * sizeof(double));
    for (int j = 0; j < to->ny; j++) to->ws[to->sym.y + j] = s->ws[p->start[j]];
    memcpy(to->sizes.history, s->sizes.history, (size_t)s->nx * sizeof(double));
    to->newton.beside_cones = s->newton.beside_cones, to->newton.standing = s->newton.standing;
    to->out_of_memory = 0;
}

/* The part's answer, and 0 for what has left; a slip speed comes later. */
static void take_part(perp__step *s, part *p)
{
    perp__step_assign(&p->step);
    for (int j = 0; j < s->ny; j++)
        s->ws[s->sym.y + j] = p->from[j] < 0 ? 0 : p->step.ws[p->from[j]];
    for (int k = 0; k < p->step.np; k++) s->choice[p->pair[k]] = p->step.choice[k];
}

static double side_value(const perp__step *s, int pair, int side)
{
    return s->ws[s->tape.check.out[s->groups.root[pair] + side]];
}

/* The k-th pair of a force of this contact that has facets or is split; -1: there are no more. */
static int force_pair(const perp_model *m, int contact, int k)
{
    const perp__contact *c = &m->contact[contact];
    if (c->kind == PERP__CONTACT_SPLIT) return k < 2 ? c->force[k] : -1;
    int i = c->pair + 1 + k;
    return i < m->npair && m->pair[i].contact == contact ? i : -1;
}

/* The side of a force's pair that is not the force, by its row as it was last linearised. */
static double row_value(const perp__step *s, int pair)
{
    int r = s->pair[s->groups.first[pair]].b;
    const double *y = s->ws + s->sym.y;
    double sum = s->c[r];
    for (int k = s->row_start[r]; k < s->row_start[r + 1]; k++)
        sum += s->value[k] * y[s->column[k]];
    return sum;
}

/* The slip speed is the least that all force pairs allow, and a little more, so that rounding leaves none below 0: as the rows were last
 * linearised, or (again) where that was not it. Returns whether it has changed. */
static int set_slip(perp__step *s, int contact, int again)
{
    const perp_model *m = s->model;
    const int *first = s->groups.first;
    double least = again ? (double)INFINITY : 0, *slip = &s->ws[s->sym.y + s->groups.slip[contact]];
    int at = -1, slips = first[m->contact[contact].pair];
    for (int k = 0, i; (i = force_pair(m, contact, k)) >= 0; k++) {
        double v = again ? side_value(s, i, 1) : row_value(s, i);
        if (v < least) least = v, at = first[i];
    }
    if (again && (*slip == 0 ? least >= 0 : least >= 0 && least <= CLEAR * *slip)) return 0;
    *slip -= least;
    *slip = *slip > 0 ? *slip * (1 + PERP_ROUNDING) : 0;
    for (int k = 0, i; (i = force_pair(m, contact, k)) >= 0; k++)
        s->choice[first[i]] = first[i] == at && *slip > 0;
    s->choice[slips] = *slip > 0;
    return 1;
}

/* The velocity of lo <= f <= hi perp v with lo = f = hi = 0 is split. */
static void split_velocity(perp__step *s, int pair)
{
    int first = s->groups.first[pair];
    double *y = s->ws + s->sym.y, v = side_value(s, pair, 1);
    y[s->column[s->row_start[s->pair[first].b]]] = v > 0 ? v : 0;
    y[s->column[s->row_start[s->pair[first + 1].a]]] = v < 0 ? -v : 0;
    s->choice[first] = s->choice[first + 1] = v < 0;
}

/* What the contacts that left have beside their forces, which are 0; and the conditions, evaluated. 0 where one of them has closed. */
static int finish(perp__step *s, const part *p)
{
    const perp_model *m = s->model;
    const perp__groups *g = &s->groups;
    int changed = 0;
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < m->ncontact; i++) {
            int of = group_of_contact(g, m, i), kind = m->contact[i].kind;
            if (of < 0 || !p->out[of] || kind == PERP__CONTACT_CONE) continue;
            if (kind != PERP__CONTACT_LINE)
                changed |= set_slip(s, i, again);
            else if (again)
                split_velocity(s, m->contact[i].pair);
        }
        if (!again || changed) perp__step_evaluate(s);
        changed = 0;
    }
    for (int k = 0; k < g->n; k++) {
        if (!p->out[k]) continue;
        if (!(side_value(s, g->pair[k], !g->side[k]) >= 0)) return 0;
        s->choice[g->first[g->pair[k]]] = (char)g->side[k];
    }
    return 1;
}

/* The answer of part p, where that is one of the whole step. */
static int solve_part(perp__step *s, int k, perp__step_result *result)
{
    struct perp__open *o = s->groups.open;
    part *p = o->part[k];
    perp__step *to = &p->step;
    long eliminations = to->count.eliminations, cone_steps = to->count.cone_steps;
    double work = to->count.work;
    begin_part(s, p, o->last != k);
    o->last = k;
    perp__step_result r = perp__step_solve(to);
    s->newton.beside_cones = to->newton.beside_cones, s->newton.standing = to->newton.standing;
    s->out_of_memory |= to->out_of_memory;
    s->count.eliminations += to->count.eliminations - eliminations;
    s->count.cone_steps += to->count.cone_steps - cone_steps;
    s->count.work += to->count.work - work;
    if (r.outcome != PERP_SOLVED) return 0;
    take_part(s, p);
    s->newton.has_slopes = 0, s->newton.is_behind = 1;
    s->newton.redundant = to->newton.redundant;
    if (!finish(s, p)) return 0;
    perp__verdict v = perp__step_judge_with(s, to, p->root);
    if (!(v.error <= PERP_AMPLY * s->tol)) return 0; /* the whole step may do better */
    *result = (perp__step_result){.outcome = PERP_SOLVED,
                                  .fault = PERP__FINE,
                                  .residual = v.residual,
                                  .error = v.error,
                                  .off = v.off,
                                  .worst = v.worst,
                                  .solves = r.solves};
    return 1;
}

int perp__open_solve(perp__step *s, perp__step_result *result)
{
    struct perp__open *o = s->groups.open;
    if (s->groups.n == 0 || !o || o->known < 2 || s->tape.held) return 0;
    int k = choose_part(s);
    if (k < 0) return 0;
    if (solve_part(s, k, result)) {
        o->part[k]->strikes = 0;
        return 1;
    }
    o->part[k]->strikes++;
    o->hasty += k == o->n - 1 && o->since < APART && o->hasty < COLLIDING;
    memcpy(s->ws + s->sym.y, s->newton.from, (size_t)s->ny * sizeof(double));
    s->newton.redundant = 0;
    return 0;
}

/* Is this side of a pair, which is as large, more than what may be left of terms that cancel, or of rest? By the slopes of its last
 * linearisation. */
static int is_clear(perp__step *s, int pair, int side, double value)
{
    const double *unit = perp__step_units(s);
    const perp__rows *rows = &s->pair[s->groups.first[pair]];
    const double *y = s->ws + s->sym.y;
    int r = side ? rows->b : rows->a;
    double terms = 0;
    for (int k = s->row_start[r]; k < s->row_start[r + 1]; k++)
        terms += fabs(s->value[k]) * fmax(fabs(y[s->column[k]]), unit[s->column[k]]);
    return value > CLEAR * terms;
}

void perp__open_note(perp__step *s)
{
    const perp__groups *g = &s->groups;
    struct perp__open *o = g->open;
    if (!o) return;
    if (!s->sizes.has_units) perp__step_linearise(s);
    for (int k = 0; k < g->n; k++) {
        int pair = g->pair[k], other = !g->side[k];
        double gap = side_value(s, pair, other);
        o->before[k] = o->known ? o->gap[k] : gap;
        o->gap[k] = gap;
        o->is_open[k] = side_value(s, pair, !other) == 0 && is_clear(s, pair, other, gap);
    }
    o->known += o->known < 2;
}

/* Snapshots ------------------------------------------------------------------------------------ */

/* The parts in use, in their order: by what has left of each; those that are not there are made when they are read. */
static void pass_parts(perp__step *s, perp__pass *pass)
{
    struct perp__open *o = s->groups.open;
    size_t n = (size_t)s->groups.n;
    int count = perp__pass_int(pass, o->n, 0, MOST);
    if (pass->mode == PERP__LOAD) o->n = 0;
    for (int k = 0; k < MOST; k++) {
        int is_used = k < count;
        int is_there = is_used && (pass->mode == PERP__COUNT || pass->mode == PERP__SAVE);
        char *read = pass->mode == PERP__LOAD ? o->far : NULL;
        perp__pass_chars(pass, is_there ? o->part[k]->out : read, n, 0, 1);
        if (pass->mode == PERP__LOAD && is_used && !pass->is_bad)
            pass->is_bad |= !add_part(s, o->far);
        int strikes = perp__pass_int(pass, is_there ? o->part[k]->strikes : 0, 0, INT_MAX);
        if (pass->mode == PERP__LOAD && is_used && !pass->is_bad) o->part[k]->strikes = strikes;
    }
}

void perp__open_pass(perp__step *s, perp__pass *pass, size_t room, perp__step_pass *pass_step)
{
    struct perp__open *o = s->groups.n > 0 ? s->groups.open : NULL;
    size_t n = (size_t)s->groups.n, before;
    if (!o) return;
    perp__pass_doubles(pass, s->c, (size_t)s->nrow);
    perp__pass_ints(pass, &s->newton.is_behind, 1, 0, 1);
    perp__pass_doubles(pass, o->gap, 2 * n);
    perp__pass_chars(pass, o->is_open, n, 0, 1);
    perp__pass_ints(pass, &o->known, 1, 0, 2);
    perp__pass_ints(pass, &o->since, 1, 0, INT_MAX);
    perp__pass_ints(pass, &o->hasty, 1, 0, COLLIDING);
    pass_parts(s, pass);
    perp__pass_ints(pass, &o->last, 1, -1, MOST - 1);
    before = pass->n;
    if (o->last >= 0 && o->last < o->n && pass->mode != PERP__LOOK && !pass->is_bad) {
        perp__step *last = &o->part[o->last]->step;
        perp__pass look = *pass;
        look.mode = PERP__LOOK;
        if (pass->mode == PERP__LOAD)
            pass_step(last, &look); /* only now there is a part to look by */
        pass->is_bad |= look.is_bad;
        if (!pass->is_bad) pass_step(last, pass);
    }
    perp__pass_bytes(pass, NULL, room - (pass->n - before));
}
