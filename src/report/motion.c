/* Frames are halved: if there are too many, every second one is dropped. So they stay evenly spaced
 * for any length. The latest state is always the last frame. */

#include "report/motion.h"
#include "report/rows.h"

#include "bodies/bodies.h"
#include "bodies/joints.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 2000, LEAST = 200, MOST_POSES = 1000000, MOST_CONTACTS = 200000, MOST_EVENTS = 4000 };

/* Room for n things of a size; 0: memory is out. */
static int reserve(void *list, int *room, int n, size_t size)
{
    void *old, *more;
    int larger = n;
    if (n < 2 * *room)
        larger = 2 * *room;
    else if (n < 64)
        larger = 64;
    if (n <= *room) return 1;
    memcpy(&old, list, sizeof old);
    more = realloc(old, (size_t)larger * size);
    if (!more) return 0;
    memcpy(list, &more, sizeof more);
    *room = larger;
    return 1;
}

/* Shapes --------------------------------------------------------------------------------------- */

static void put_numbers(perp__text *out, const double *x, int n)
{
    for (int i = 0; i < n; i++) perp__text_format(out, "%s%.9g", i ? "," : "[", x[i]);
    perp__text_put(out, n ? "]" : "[]");
}

static void put_mesh(perp__text *out, const perp_mesh *mesh)
{
    const double *point;
    const int *corner;
    int n = perp_mesh_points(mesh, &point);
    perp__text_put(out, "{\"point\":");
    put_numbers(out, point, 3 * n);
    perp__text_put(out, ",\"face\":[");
    for (int k = 0; (n = perp_mesh_face(mesh, k, &corner)) != 0; k++) {
        for (int i = 0; i < n; i++) {
            const char *opens = "[";
            if (i)
                opens = ",";
            else if (k)
                opens = ",[";
            perp__text_format(out, "%s%d", opens, corner[i]);
        }
        perp__text_put(out, "]");
    }
    perp__text_put(out, "]}");
}

/* The triangles of a height field. */
static void put_field(perp__text *out, const perp_field *field)
{
    const double *height;
    double half[2];
    int n[2], count = perp_field_heights(field, &height, n, half);
    perp__text_put(out, "{\"point\":[");
    for (int i = 0; i < count; i++)
        perp__text_format(out, "%s%.9g,%.9g,%.9g", i ? "," : "",
                          -half[0] + 2 * half[0] * (i % n[0]) / (n[0] - 1),
                          -half[1] + 2 * half[1] * (i / n[0]) / (n[1] - 1), height[i]);
    perp__text_put(out, "],\"face\":[");
    for (int i = 0; i + n[0] < count; i++) {
        int up = i + n[0];
        if (i % n[0] == n[0] - 1) continue;
        perp__text_format(out, "%s[%d,%d,%d],[%d,%d,%d]", i ? "," : "", i, i + 1, up + 1, i, up + 1,
                          up);
    }
    perp__text_put(out, "]}");
}

/* The different meshes of the shapes, height fields too, and of each shape which one is its own;
 * -1: none. How many, or -1: memory is out. */
static int list_meshes(const perp_shape *shape, int nshape, const perp_shape **mesh, int *own)
{
    int n = 0;
    for (int s = 0; s < nshape; s++) {
        int k = 0;
        own[s] = -1;
        int is_field = shape[s].kind == PERP_SHAPE_FIELD;
        if (shape[s].kind != PERP_SHAPE_MESH && !is_field) continue;
        while (k < n &&
               (is_field ? mesh[k]->field != shape[s].field : mesh[k]->mesh != shape[s].mesh))
            k++;
        if (k == n) mesh[n++] = &shape[s];
        own[s] = k;
    }
    return n;
}

static void put_shape(perp__text *out, const perp_shape *s, int mesh)
{
    perp__text_format(out, "{\"body\":%d,\"kind\":\"%s\",\"size\":", s->body,
                      perp_shape_name(mesh >= 0 ? PERP_SHAPE_MESH : s->kind));
    put_numbers(out, s->size, 3);
    perp__text_put(out, ",\"p\":");
    put_numbers(out, s->position, 3);
    perp__text_put(out, ",\"q\":");
    put_numbers(out, s->rotation, 4);
    if (mesh >= 0) perp__text_format(out, ",\"mesh\":%d", mesh);
    perp__text_put(out, "}");
}

static int put_shapes(perp__text *out, const perp_shape *shape, int nshape, const char *const *name,
                      int nbody)
{
    const perp_shape **mesh = malloc(((size_t)nshape + 1) * sizeof *mesh);
    int *own = malloc(((size_t)nshape + 1) * sizeof *own);
    int ok = mesh && own, n = ok ? list_meshes(shape, nshape, mesh, own) : 0;
    perp__text_put(out, "\"bodies\":[\"\"");
    for (int i = 1; i < nbody; i++) {
        perp__text_put(out, ",");
        perp__text_json(out, name ? name[i] : NULL);
    }
    perp__text_put(out, "],\"meshes\":[");
    for (int k = 0; k < n; k++) {
        if (k) perp__text_put(out, ",");
        if (mesh[k]->kind == PERP_SHAPE_FIELD)
            put_field(out, mesh[k]->field);
        else
            put_mesh(out, mesh[k]->mesh);
    }
    perp__text_put(out, "],\"shapes\":[");
    for (int s = 0; s < nshape && ok; s++) {
        if (s) perp__text_put(out, ",");
        put_shape(out, &shape[s], own[s]);
    }
    perp__text_put(out, "]");
    free(mesh);
    free(own);
    return ok && !out->failed;
}

/* What is rounded is far below what is seen: a part of the least shape. */
static double rounding(const perp_shape *shape, int nshape)
{
    double least = INFINITY;
    for (int s = 0; s < nshape; s++)
        if (shape[s].kind != PERP_SHAPE_PLANE) least = fmin(least, perp__shape_least(&shape[s]));
    return least > 0 && isfinite(least) ? least / 4096 : 1e-6;
}

perp_motion *perp__motion_make(const perp_shape *shape, int nshape, const char *const *name,
                               int nbody, int npoint)
{
    perp_motion *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->nbody = nbody;
    m->nshape = nshape;
    m->unit = rounding(shape, nshape);
    m->every = m->touch_every = 1;
    m->npoint = npoint;
    m->size = (size_t)nbody * PERP__POSE + 3 * (size_t)npoint;
    int most = (int)((size_t)MOST_POSES * PERP__POSE / m->size);
    if (most > MOST)
        m->most = MOST;
    else if (most < LEAST)
        m->most = LEAST;
    else
        m->most = most;
    m->body_of = malloc(((size_t)nshape + 1) * sizeof *m->body_of);
    m->event = malloc(MOST_EVENTS * sizeof *m->event);
    if (!m->body_of || !m->event || !put_shapes(&m->shapes, shape, nshape, name, nbody)) {
        perp_motion_destroy(m);
        return NULL;
    }
    for (int s = 0; s < nshape; s++) m->body_of[s] = shape[s].body;
    return m;
}

static int points_of(const perp__joints *j)
{
    int n = 0;
    for (int i = 0; i < j->ntendon; i++)
        for (int k = 0; k < j->strand[i].npath; k++)
            n += perp__points_at(j->strand[i].path[k].kind);
    return n;
}

/* Tendons through space: of each how many points its branches have. */
static void put_tendons(perp__text *out, const perp__joints *j)
{
    const char *begin = ",\"tendons\":[[";
    for (int i = 0; i < j->ntendon; i++) {
        const perp__strand *s = &j->strand[i];
        int n = 0;
        for (int k = 0; k < s->npath; k++) {
            n += perp__points_at(s->path[k].kind);
            if (!n || (k + 1 < s->npath && s->path[k + 1].kind != PERP_PATH_PULLEY)) continue;
            perp__text_format(out, "%s%d", begin, n);
            begin = ",";
            n = 0;
        }
        if (s->npath) begin = "],[";
    }
    if (begin[0] == ']') perp__text_put(out, "]]");
}

perp_status perp_motion_create(const perp_bodies *b, perp_motion **motion)
{
    if (!b || !motion) return PERP_ERR_ARG;
    const char **name = malloc((size_t)b->scene->n * sizeof *name);
    for (int i = 0; i < b->scene->n && name; i++) name[i] = i ? b->link[i].is.name : NULL;
    *motion = name ? perp__motion_make(b->scene->shape, b->scene->nshape, name, b->scene->n,
                                       points_of(b->joints))
                   : NULL;
    free(name);
    if (!*motion) return PERP_ERR_MEMORY;
    put_tendons(&(*motion)->shapes, b->joints);
    if (!(*motion)->shapes.failed) return PERP_OK;
    perp_motion_destroy(*motion);
    *motion = NULL;
    return PERP_ERR_MEMORY;
}

void perp_motion_destroy(perp_motion *m)
{
    if (!m) return;
    perp__text_clear(&m->shapes);
    free(m->body_of);
    free(m->frame);
    free(m->pose);
    free(m->contact);
    free(m->event);
    free(m->press);
    free(m->before);
    free(m);
}

/* Frames --------------------------------------------------------------------------------------- */

static double *pose_of(const perp_motion *m, int frame)
{
    return m->pose + (size_t)frame * m->size;
}

/* Contacts only of every `touch_every`th state, and of the latest. */
static void drop_contacts(perp_motion *m)
{
    int n = 0;
    for (int i = 0; i < m->nframe; i++) {
        perp__frame *f = &m->frame[i];
        if (f->n < 0) continue;
        if (f->step % m->touch_every && i < m->nframe - 1) {
            f->n = -1;
            continue;
        }
        memmove(m->contact + (size_t)n * PERP__CONTACT,
                m->contact + (size_t)f->first * PERP__CONTACT,
                (size_t)f->n * PERP__CONTACT * sizeof *m->contact);
        f->first = n;
        n += f->n;
    }
    m->ncontact = n;
}

/* Every second frame. */
static void halve(perp_motion *m)
{
    int n = 0;
    m->every *= 2;
    if (m->touch_every < m->every) m->touch_every = m->every;
    for (int i = 0; i < m->nframe; i++) {
        if (m->frame[i].step % m->every) continue;
        m->frame[n] = m->frame[i];
        memmove(pose_of(m, n), pose_of(m, i), m->size * sizeof *m->pose);
        n++;
    }
    m->nframe = n;
    drop_contacts(m);
}

static int grow(perp_motion *m)
{
    int room = m->cframe, n = m->nframe + 1;
    if (!reserve(&m->frame, &m->cframe, n, sizeof *m->frame)) return 0;
    if (room == m->cframe) return 1;
    double *pose = realloc(m->pose, (size_t)m->cframe * m->size * sizeof *pose);
    if (!pose) m->cframe = room;
    if (pose) m->pose = pose;
    return pose != NULL;
}

double *perp__motion_next(perp_motion *m, double t)
{
    if (m->nframe && m->frame[m->nframe - 1].step % m->every) {
        perp__frame *latest = &m->frame[--m->nframe];
        if (latest->n >= 0) m->ncontact = latest->first;
    }
    if (m->nframe >= m->most) halve(m);
    if (!grow(m)) return NULL;
    m->frame[m->nframe] = (perp__frame){.t = t, .step = m->steps++, .first = m->ncontact, .n = -1};
    return pose_of(m, m->nframe++);
}

void perp__motion_pose(double *pose, const double *before, const double *p, const double *R)
{
    /* Shepperd, Quaternion from rotation matrix, 1978: the largest of the four is found first. */
    double four[4] = {R[0] + R[4] + R[8], R[0] - R[4] - R[8], R[4] - R[0] - R[8],
                      R[8] - R[0] - R[4]};
    double *q = pose + 3, sign = 0, size = 0;
    int k = 0;
    for (int i = 1; i < 4; i++)
        if (four[i] > four[k]) k = i;
    double w = sqrt(fmax(1 + four[k], 0)), s = w > 0 ? 0.5 / w : 0;
    double off[3] = {R[7] - R[5], R[2] - R[6], R[3] - R[1]};
    if (k == 0) {
        q[0] = 0.5 * w;
        for (int i = 0; i < 3; i++) q[1 + i] = off[i] * s;
    } else {
        int a = k - 1, b = k % 3, c = (k + 1) % 3;
        q[0] = off[a] * s;
        q[1 + a] = 0.5 * w;
        q[1 + b] = (R[3 * a + b] + R[3 * b + a]) * s;
        q[1 + c] = (R[3 * a + c] + R[3 * c + a]) * s;
    }
    for (int i = 0; i < 4; i++) {
        size += q[i] * q[i];
        sign += before ? q[i] * before[3 + i] : 0;
    }
    size = (sign < 0 ? -1 : 1) / sqrt(size);
    for (int i = 0; i < 4; i++) q[i] *= size;
    memcpy(pose, p, 3 * sizeof *p);
}

/* Contacts ------------------------------------------------------------------------------------- */

/* The contact as the page draws it: the force on the second body, or on the first where the second
 * is the world. */
static void write_contact(const perp_motion *m, const perp_contact *t, double h, float *x)
{
    double sign = m->body_of[t->shape[1]] ? 1 : -1;
    for (int k = 0; k < 3; k++) {
        double f = t->normal[k] * t->impulse[0] + t->tangent[0][k] * t->impulse[1] +
                   t->tangent[1][k] * t->impulse[2];
        x[k] = (float)t->point[k];
        x[3 + k] = (float)(sign * t->normal[k]);
        x[6 + k] = (float)(sign * f / h);
    }
    x[9] = (float)t->mu;
}

static int add_contacts(perp_motion *m, const perp_contact *touch, int n, double h)
{
    perp__frame *f = &m->frame[m->nframe - 1];
    int pressing = 0;
    for (int i = 0; i < n; i++) pressing += touch[i].impulse[0] > 0;
    while (m->ncontact && m->ncontact + pressing > MOST_CONTACTS && m->touch_every < m->steps) {
        m->touch_every *= 2;
        drop_contacts(m);
    }
    if (!reserve(&m->contact, &m->ccontact, m->ncontact + pressing + 1,
                 PERP__CONTACT * sizeof *m->contact))
        return 0;
    f->first = m->ncontact;
    f->n = pressing;
    for (int i = 0; i < n; i++) {
        if (!(touch[i].impulse[0] > 0)) continue;
        write_contact(m, &touch[i], h, m->contact + (size_t)m->ncontact++ * PERP__CONTACT);
    }
    return 1;
}

/* Events --------------------------------------------------------------------------------------- */

static int by_shapes(const void *a, const void *b)
{
    const perp__press *p = a, *q = b;
    int k = p->shape[0] == q->shape[0];
    return (p->shape[k] > q->shape[k]) - (p->shape[k] < q->shape[k]);
}

/* The pairs of shapes that press, in order. One slips where all its points are on the edge of their
 * cones, to what the solver leaves. */
static int list_presses(perp_motion *m, const perp_contact *touch, int n)
{
    const double edge = 1 - 1e-5, nothing = 1e-9;
    double most = 0;
    int count = 0, kept = 0;
    if (!reserve(&m->press, &m->cpress, n + 1, sizeof *m->press)) return 0;
    for (int i = 0; i < n; i++) most = fmax(most, touch[i].impulse[0]);
    for (int i = 0; i < n; i++) {
        const double *p = touch[i].impulse;
        if (!(p[0] > nothing * most)) continue;
        m->press[count++] = (perp__press){.shape = {touch[i].shape[0], touch[i].shape[1]},
                                          .impulse = p[0],
                                          .slips = touch[i].mu > 0 &&
                                                   hypot(p[1], p[2]) >= edge * touch[i].mu * p[0]};
    }
    qsort(m->press, (size_t)count, sizeof *m->press, by_shapes);
    for (int i = 0; i < count; i++) {
        perp__press *last = kept ? &m->press[kept - 1] : NULL;
        if (last && by_shapes(last, &m->press[i]) == 0) {
            last->impulse += m->press[i].impulse;
            last->slips &= m->press[i].slips;
        } else {
            m->press[kept++] = m->press[i];
        }
    }
    m->npress = kept;
    return 1;
}

/* Two neighbours become one, at the time of the stronger. */
static void merge_events(perp_motion *m)
{
    int n = m->nevent / 2;
    for (int i = 0; i < n; i++) {
        const perp__event *a = &m->event[2 * i], *b = a + 1;
        perp__event one = {.t = a->impulse >= b->impulse ? a->t : b->t,
                           .impulse = fmax(a->impulse, b->impulse),
                           .begin = a->begin + b->begin,
                           .end = a->end + b->end,
                           .slip = a->slip + b->slip,
                           .stick = a->stick + b->stick};
        m->event[i] = one;
    }
    m->nevent = n;
}

/* What is other than in the state before. */
static void find_event(perp_motion *m, double t)
{
    perp__event e = {.t = t};
    int i = 0, j = 0;
    while (i < m->npress || j < m->nbefore) {
        perp__press *now = &m->press[i], *old = &m->before[j];
        int order;
        if (i == m->npress)
            order = 1;
        else if (j == m->nbefore)
            order = -1;
        else
            order = by_shapes(now, old);
        int slips = order == 0 ? now->slips - old->slips : 0;
        if (order < 0) now->is_new = 1;
        if (order == 0 && old->is_new && m->nevent) m->event[m->nevent - 1].impulse += now->impulse;
        e.begin += order < 0;
        e.end += order > 0;
        e.slip += slips > 0;
        e.stick += slips < 0;
        if (order || slips) e.impulse += order > 0 ? old->impulse : now->impulse;
        i += order <= 0;
        j += order >= 0;
    }
    if (!(e.begin || e.end || e.slip || e.stick)) return;
    if (m->nevent == MOST_EVENTS) merge_events(m);
    m->event[m->nevent++] = e;
}

static int add_event(perp_motion *m, const perp_contact *touch, int n, double t)
{
    perp__press *press = m->before;
    int room = m->cbefore;
    m->before = m->press;
    m->nbefore = m->npress;
    m->cbefore = m->cpress;
    m->press = press;
    m->npress = 0;
    m->cpress = room;
    if (!list_presses(m, touch, n)) return 0;
    if (m->steps > 2) find_event(m, t); /* what the first step has is no change */
    return 1;
}

perp_status perp_motion_add(perp_motion *m, perp_bodies *b)
{
    if (!m || !b || b->scene->n != m->nbody || b->scene->nshape != m->nshape ||
        points_of(b->joints) != m->npoint)
        return PERP_ERR_ARG;
    if (m->nframe && !(perp_bodies_time(b) > m->frame[m->nframe - 1].t)) return PERP_ERR_ARG;
    const perp_contact *touch;
    int n = perp_bodies_contacts(b, &touch);
    double *pose = perp__motion_next(m, perp_bodies_time(b));
    if (!pose) return PERP_ERR_MEMORY;
    perp__bodies_place(b, b->q);
    for (int i = 0; i < m->nbody; i++, pose += PERP__POSE)
        perp__motion_pose(pose, m->nframe > 1 ? pose - m->size : NULL, b->link[i].p, b->link[i].R);
    if (m->npoint) perp__tendons_place(b);
    for (int i = 0; i < b->joints->ntendon; i++)
        pose = perp__path_points(b, &b->joints->strand[i], pose);
    if (m->steps == 1) return PERP_OK; /* forces are of steps */
    long step = m->frame[m->nframe - 1].step;
    int ok = add_event(m, touch, n, perp_bodies_time(b));
    if (step % m->touch_every == 0 || step % m->every) ok = ok && add_contacts(m, touch, n, b->h);
    return ok ? PERP_OK : PERP_ERR_MEMORY;
}

int perp_motion_frames(const perp_motion *m, int *every)
{
    if (every) *every = m ? (int)m->every : 0;
    return m ? m->nframe : 0;
}

/* The page ------------------------------------------------------------------------------------- */

/* A number of the poses over the frames: whole multiples of the unit by differences, or one number
 * that does not change. */
static void put_channel(perp__text *out, const perp_motion *m, int k, double unit, uint64_t *bits)
{
    const size_t step = m->size;
    const double *x = m->pose + k;
    int is_constant = 1;
    double least = INFINITY;
    for (int i = 0; i < m->nframe; i++) {
        is_constant &= x[(size_t)i * step] == x[0];
        least = fmin(least, x[(size_t)i * step]);
    }
    if (is_constant) {
        perp__text_format(out, "%.9g", x[0]);
        return;
    }
    for (int i = 0; i < m->nframe; i++)
        bits[i] = (uint64_t)fmin(round((x[(size_t)i * step] - least) / unit), 0x1p53);
    perp__text_format(out, "[%.9g,\"", least);
    perp__rows_put_bits(out, bits, m->nframe);
    perp__text_put(out, "\"]");
}

static void put_poses(perp__text *out, const perp_motion *m)
{
    const double turn = 1.0 / 32768;
    uint64_t *bits = malloc(((size_t)m->nframe + 1) * sizeof *bits);
    if (!bits) out->failed = 1;
    perp__text_format(out, ",\"unit\":%.9g,\"turn\":%.9g,\"poses\":[", m->unit, turn);
    for (int k = 0; k < (int)m->size && bits && m->nframe; k++) {
        int is_turn = k < m->nbody * PERP__POSE && k % PERP__POSE > 2;
        if (k) perp__text_put(out, ",");
        put_channel(out, m, k, is_turn ? turn : m->unit, bits);
    }
    perp__text_put(out, "]");
    free(bits);
}

static void put_contacts(perp__text *out, const perp_motion *m)
{
    perp__text_put(out, ",\"contacts\":[");
    for (int i = 0; i < m->nframe; i++) perp__text_format(out, "%s%d", i ? "," : "", m->frame[i].n);
    perp__text_put(out, "],\"contact\":");
    perp__text_floats(out, m->contact, (size_t)m->ncontact * PERP__CONTACT);
}

static void put_events(perp__text *out, const perp_motion *m)
{
    perp__text_put(out, ",\"events\":[");
    for (int i = 0; i < m->nevent; i++) {
        const perp__event *e = &m->event[i];
        perp__text_format(out, "%s[%.12g,%.6g,%d,%d,%d,%d]", i ? "," : "", e->t, e->impulse,
                          e->begin, e->end, e->slip, e->stick);
    }
    perp__text_put(out, "]");
}

void perp__motion_put(perp__text *out, const perp_motion *m)
{
    perp__text_format(out, "{\"states\":%ld,\"every\":%ld,\"contactsEvery\":%ld,\"t\":[", m->steps,
                      m->every, m->touch_every);
    for (int i = 0; i < m->nframe; i++)
        perp__text_format(out, "%s%.15g", i ? "," : "", m->frame[i].t);
    perp__text_put(out, "],");
    perp__text_bytes(out, m->shapes.at, m->shapes.length);
    put_poses(out, m);
    put_contacts(out, m);
    put_events(out, m);
    perp__text_put(out, "}");
}
