/* Snapshots and copies of a system: what it is set to and its state, as bytes
 * (docs/explain/bodies-run.md). What follows from these is found again in the next step, by the
 * same operations on the same numbers, so that no bit of what follows changes. */

#include "bodies/bodies.h"
#include "bodies/joints.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Settings ------------------------------------------------------------------------------------- */

/* A body's mass, centre, inertia and what its joint loses; what follows from them is made again
 * where they change. */
static void pass_body(perp_bodies *b, int i, perp__pass *pass)
{
    perp__link *l = &b->link[i];
    perp_body *is = &l->is, before = *is;
    perp__pass_doubles(pass, &is->mass, 1);
    perp__pass_doubles(pass, is->center, 3);
    perp__pass_doubles(pass, is->inertia, 6);
    perp__pass_doubles(pass, &is->damping, 1);
    perp__pass_doubles(pass, &is->armature, 1);
    perp__pass_doubles(pass, &is->gravity_compensation, 1);
    if (pass->mode != PERP__LOAD) return;
    if (is->mass != before.mass || memcmp(is->center, before.center, sizeof before.center) != 0 ||
        memcmp(is->inertia, before.inertia, sizeof before.inertia) != 0 ||
        is->gravity_compensation != before.gravity_compensation) {
        perp__link_weigh(l);
        perp__pushes_weigh(b, i);
    }
}

static void pass_materials(perp_bodies *b, perp__pass *pass)
{
    perp__filter *f = b->filter;
    int n = perp__pass_int(pass, f->rule ? b->scene->nshape : 0, 0, b->scene->nshape);
    if (pass->mode == PERP__LOOK && n && n != b->scene->nshape) {
        pass->is_bad = 1;
        n = 0;
    }
    if (pass->mode == PERP__LOOK && n && !perp__filter_rules(b)) pass->is_full = 1;
    if (pass->mode == PERP__LOAD && !n) perp__filter_usual(b);
    if (n) perp__pass_bytes(pass, f->rule, (size_t)n * sizeof *f->rule);
}

/* A list that is sorted and grows; its items have no padding. */
static void pass_list(perp__pass *pass, void *list, int *n, int *capacity, size_t size)
{
    void *at;
    int count = perp__pass_count(pass, *n, size);
    if (pass->mode == PERP__LOOK && !perp__grow(list, capacity, count, size)) pass->is_full = 1;
    if (pass->mode == PERP__LOAD) *n = count;
    memcpy(&at, list, sizeof at);
    perp__pass_bytes(pass, at, (size_t)count * size);
}

static void pass_settings(perp_bodies *b, perp__pass *pass)
{
    perp__filter *f = b->filter;
    perp__pass_doubles(pass, b->gravity, 3);
    for (int i = 1; i < b->scene->n; i++) pass_body(b, i, pass);
    perp__pass_bytes(pass, b->surface, (size_t)b->scene->nshape * sizeof *b->surface);
    pass_materials(b, pass);
    pass_list(pass, &f->pair, &f->npair, &f->cpair, sizeof *f->pair);
    pass_list(pass, &f->apart, &f->napart, &f->capart, sizeof *f->apart);
    pass_list(pass, &f->excluded, &f->nexcluded, &f->cexcluded, sizeof *f->excluded);
    perp__joints_pass_settings(b, pass);
}

/* State ---------------------------------------------------------------------------------------- */

static void pass_contact(const perp_bodies *b, perp__pass *pass, perp_contact *t)
{
    const size_t POINT = offsetof(perp_contact, point), FEATURE = offsetof(perp_contact, feature),
                 REST = offsetof(perp_contact, torsional_friction);
    perp__pass_ints(pass, t->shape, 2, 0, b->scene->nshape - 1);
    perp__pass_bytes(pass, (char *)t + POINT, FEATURE - POINT);
    perp__pass_ints(pass, &t->feature, 1, INT_MIN, INT_MAX);
    perp__pass_bytes(pass, (char *)t + REST, sizeof *t - REST);
}

/* Room for n contacts. */
static int have_contacts(perp_bodies *b, int n)
{
    return perp__grow(&b->touch, &b->ctouch, n, sizeof *b->touch) &&
           perp__grow(&b->before, &b->cbefore, n, sizeof *b->before);
}

/* Those of the last step: they are what the next one begins with. */
static void pass_contacts(perp_bodies *b, perp__pass *pass)
{
    int is_ahead = perp__pass_int(pass, b->is_ahead, 0, 1);
    int n = perp__pass_count(pass, b->is_ahead ? b->nbefore : b->ntouch, sizeof(double));
    if (pass->mode == PERP__LOOK && !have_contacts(b, n)) {
        pass->is_full = 1;
        n = 0;
    }
    if (pass->mode == PERP__LOAD) {
        b->is_ahead = is_ahead;
        b->ntouch = is_ahead ? 0 : n;
        b->nbefore = is_ahead ? n : 0;
    }
    perp_contact *t = b->is_ahead ? b->before : b->touch;
    for (int i = 0; i < n; i++) pass_contact(b, pass, &t[i]);
}

static void pass_state(perp_bodies *b, perp__pass *pass)
{
    size_t nq = (size_t)b->scene->nq, nv = (size_t)b->scene->nv;
    perp__pass_doubles(pass, b->q, nq);
    perp__pass_doubles(pass, b->v, nv);
    perp__pass_doubles(pass, b->tau, nv);
    perp__pass_doubles(pass, &b->time, 1);
    perp__pass_doubles(pass, &b->origin, 1);
    perp__pass_longs(pass, &b->steps, 1);
    perp__pass_longs(pass, &b->since, 1);
    perp__pass_doubles(pass, b->last, nq + nv);
    perp__pass_doubles(pass, b->acc, nv);
    perp__pass_doubles(pass, &b->half, 1);
    if (perp__is_midpoint(b)) perp__pass_doubles(pass, b->here, nq);
    perp__pass_ints(pass, &b->is_stepped, 1, 0, 1);
    pass_contacts(b, pass);
    perp__joints_pass(b, pass);
    perp__rest_pass(b, pass);
    perp__body_impacts_pass(b, pass);
}

/* The head ------------------------------------------------------------------------------------- */

/* What stands before the bytes of the settings and of the state. Version: to be raised with every
 * change of the lists above. */
typedef struct head {
    char magic[8];
    uint32_t version, order;
    uint64_t nsettings, nstate, problem;
    uint64_t settings, sum; /* of their bytes */
} head;

enum { VERSION = 2, ORDER = 0x01020304 };
static const char magic[8] = "perpbody";

typedef void pass_part(perp_bodies *b, perp__pass *pass);

/* A pass only reads what is const here. */
static size_t count(const perp_bodies *b, pass_part *part)
{
    perp__pass pass = {.mode = PERP__COUNT};
    part((perp_bodies *)b, &pass);
    return pass.n;
}

static size_t save(const perp_bodies *b, pass_part *part, unsigned char *bytes)
{
    perp__pass pass = {.mode = PERP__SAVE, .at = bytes};
    part((perp_bodies *)b, &pass);
    return pass.n;
}

size_t perp_bodies_snapshot_size(const perp_bodies *b)
{
    return b ? sizeof(head) + count(b, pass_settings) + count(b, pass_state) : 0;
}

perp_status perp_bodies_snapshot(const perp_bodies *b, void *bytes, size_t size)
{
    if (!b || !bytes || size < perp_bodies_snapshot_size(b)) return PERP_ERR_ARG;
    unsigned char *at = (unsigned char *)bytes + sizeof(head);
    head h = {.version = VERSION, .order = ORDER, .problem = b->scene->digest};
    memcpy(h.magic, magic, sizeof magic);
    h.nsettings = save(b, pass_settings, at);
    h.nstate = save(b, pass_state, at + h.nsettings);
    h.settings = perp__digest(h.problem, at, h.nsettings);
    h.sum = perp__digest(h.settings, at + h.nsettings, h.nstate);
    memcpy(bytes, &h, sizeof h);
    return PERP_OK;
}

/* The fault of the head of `size` bytes; NULL: none. */
static const char *head_fault(const perp_bodies *b, const head *h, size_t size)
{
    if (memcmp(h->magic, magic, sizeof magic) != 0) return "not a snapshot of bodies";
    if (h->order != ORDER || h->version != VERSION)
        return "a snapshot of another version of perp, or of another kind of machine";
    if (h->problem != b->scene->digest)
        return "a snapshot of another system, or with other options";
    size -= sizeof *h;
    return h->nsettings > size || h->nstate > size - h->nsettings
               ? "a snapshot that is not complete"
               : NULL;
}

/* May n bytes be read? Then there is room for them, or memory is out (is_full). */
static int may_read(perp_bodies *b, pass_part *part, const unsigned char *at, size_t n,
                    int *is_full)
{
    perp__pass pass = {.mode = PERP__LOOK, .at = (unsigned char *)at, .most = n};
    part(b, &pass);
    *is_full |= pass.is_full;
    return pass.is_full || (!pass.is_bad && pass.n == n);
}

static void load(perp_bodies *b, pass_part *part, const unsigned char *at)
{
    perp__pass pass = {.mode = PERP__LOAD, .at = (unsigned char *)at};
    part(b, &pass);
}

void perp__bodies_drop_cache(perp_bodies *b)
{
    b->is_found = b->is_placed = 0;
    b->rest->is_made = b->rest->is_ordered = 0;
    b->h = b->scene->o.step;
}

/* Settings that are the system's already are not read. */
perp_status perp_bodies_restore(perp_bodies *b, const void *bytes, size_t size, perp_diag *diag)
{
    int is_full = 0;
    if (!b || !bytes) return PERP_ERR_ARG;
    const char *fault = size < sizeof(head) ? "too short for a snapshot" : NULL;
    head h = {.problem = 0};
    if (!fault) memcpy(&h, bytes, sizeof h);
    if (!fault) fault = head_fault(b, &h, size);
    const unsigned char *settings = (const unsigned char *)bytes + sizeof h,
                        *state = settings + h.nsettings;
    int are_other = h.settings != b->settings;
    if (!fault && (h.sum != perp__digest(h.settings, state, h.nstate) ||
                   (are_other && h.settings != perp__digest(h.problem, settings, h.nsettings)) ||
                   (are_other && !may_read(b, pass_settings, settings, h.nsettings, &is_full)) ||
                   !may_read(b, pass_state, state, h.nstate, &is_full)))
        fault = "a snapshot that was damaged";
    if (fault)
        return perp__refuse(diag, PERP_ERR_DATA, perp__in(NULL), "what is to be restored is %s\n",
                            fault);
    if (is_full) return perp__out_of_memory(diag, "bodies");
    if (are_other) load(b, pass_settings, settings);
    load(b, pass_state, state);
    perp__bodies_drop_cache(b);
    b->settings = 0;
    if (are_other && (!perp__filter_index(b) || !perp__joints_turns(b)))
        return perp__out_of_memory(diag, "bodies");
    b->settings = h.settings;
    return PERP_OK;
}

/* Copies --------------------------------------------------------------------------------------- */

static int copy_settings(perp_bodies *b, const perp_bodies *from)
{
    const perp__scene *s = b->scene;
    memcpy(b->link, from->link, (size_t)s->n * sizeof *b->link);
    memcpy(b->start, from->start, (size_t)(s->nq + s->nv) * sizeof *b->start);
    b->equal->rows = from->equal->rows;
    b->equal->soft = from->equal->soft;
    return perp__joints_copy(b, from) && perp__filter_copy(b, from->filter) &&
           perp__pushes_create(b);
}

perp_status perp_bodies_clone(const perp_bodies *from, perp_bodies **clone, perp_diag *diag)
{
    if (!clone) return PERP_ERR_ARG;
    *clone = NULL;
    if (!from) return PERP_ERR_ARG;
    perp_bodies *b = perp__bodies_of(perp__scene_share(from->scene));
    if (!b) perp__scene_release(from->scene);
    size_t size = perp_bodies_snapshot_size(from);
    void *bytes = b && copy_settings(b, from) ? malloc(size) : NULL;
    perp_status status = bytes ? perp_bodies_snapshot(from, bytes, size) : PERP_ERR_MEMORY;
    if (status == PERP_OK) status = perp_bodies_restore(b, bytes, size, diag);
    free(bytes);
    if (status == PERP_OK) {
        *clone = b;
        return status;
    }
    perp_bodies_destroy(b);
    return perp__out_of_memory(diag, "bodies");
}

/* Starts --------------------------------------------------------------------------------------- */

perp_status perp_bodies_set_start(perp_bodies *b)
{
    if (!b) return PERP_ERR_ARG;
    size_t nq = (size_t)b->scene->nq, nv = (size_t)b->scene->nv;
    const perp__joints *j = b->joints;
    memcpy(b->start, b->q, nq * sizeof *b->q);
    memcpy(b->start + nq, b->v, nv * sizeof *b->v);
    for (int i = 0; i < j->nu; i++) {
        j->start[2 * i] = j->control[i];
        j->start[2 * i + 1] = j->act[i];
    }
    return PERP_OK;
}

void perp_bodies_reset(perp_bodies *b)
{
    if (!b) return;
    size_t nq = (size_t)b->scene->nq, nv = (size_t)b->scene->nv;
    perp__joints *j = b->joints;
    memcpy(b->q, b->start, nq * sizeof *b->q);
    memcpy(b->v, b->start + nq, nv * sizeof *b->v);
    memset(b->tau, 0, nv * sizeof *b->tau);
    for (int i = 0; i < j->nu; i++) {
        j->control[i] = j->start[2 * i];
        j->act[i] = j->start[2 * i + 1];
        j->drive[i] = 0;
    }
    perp__bodies_forget(b);
    perp__body_impacts_restart(b);
    b->time = b->origin = 0;
    b->steps = b->since = 0;
}

perp_status perp_bodies_set_time(perp_bodies *b, double time)
{
    if (!b || !isfinite(time)) return PERP_ERR_ARG;
    b->time = b->origin = time;
    b->since = b->steps;
    return PERP_OK;
}
