/* Actuators: the activation, and the force as a linear function of length and rate over a step. */

#include "bodies/bodies.h"
#include "bodies/joints.h"

#include <math.h>
#include <string.h>

/* Description ---------------------------------------------------------------------------------- */

static const char *muscle_fault(const perp_muscle *m)
{
    double sum = m->range[0] + m->range[1] + m->force + m->lmin + m->lmax + m->vmax + m->fpmax +
                 m->fvmax + m->length[0] + m->length[1];
    if (m->force == 0) return NULL;
    if (!(m->force > 0) || !isfinite(sum)) return "a muscle's force is > 0, and all of it finite";
    if (!(m->range[0] < m->range[1]) || !(m->length[0] < m->length[1]))
        return "a muscle's lengths and their range rise";
    if (!(m->lmin < 1 && 1 < m->lmax) || !(m->vmax > 0) || !(m->fpmax >= 0) || !(m->fvmax > 1))
        return "a muscle has lmin < 1 < lmax, vmax > 0, fpmax >= 0, fvmax > 1";
    return NULL;
}

static const char *activation_fault(const perp_actuator *a)
{
    int is_muscle = a->activation == PERP_ACTIVATION_MUSCLE;
    if (a->activation > PERP_ACTIVATION_MUSCLE) return "there is no such activation";
    if (!isfinite(a->rise + a->fall + a->smooth) || !(a->rise >= 0) ||
        (is_muscle && !(a->rise > 0 && a->fall > 0 && a->smooth >= 0)))
        return "times of its activation are >= 0, of a muscle's > 0";
    if (!perp__is_interval(&a->activation_range))
        return "its activation's lower bound must be below the upper one";
    return NULL;
}

const char *perp__drive_fault(const perp_actuator *a)
{
    const perp_range *range = a->activation ? &a->activation_range : &a->control_range;
    int grows = a->kp_per_control != 0 || a->kv_per_control != 0;
    if (a->gear == 0 || !isfinite(a->gear)) return "its actuator's gear is finite and not 0";
    if (!isfinite(a->gain) || !isfinite(a->bias))
        return "its actuator's gain or bias is not finite";
    if (!(a->kp >= 0) || !(a->kv >= 0) || !(a->kp_per_control >= 0) || !(a->kv_per_control >= 0) ||
        !isfinite(a->kp + a->kv + a->kp_per_control + a->kv_per_control))
        return "its actuator's kp and kv are >= 0";
    if (grows && !(range->limited && range->lower >= 0))
        return "kp and kv grow with a control, or an activation, that is bounded by 0 or more";
    if (!perp__is_interval(&a->force_range) || !perp__is_interval(&a->control_range))
        return "its actuator's bounds must be finite, the lower ones below the upper ones";
    const char *fault = activation_fault(a);
    return fault ? fault : muscle_fault(&a->muscle);
}

/* Activations ---------------------------------------------------------------------------------- */

static const perp_range UNIT = {1, 0, 1};

/* Of a muscle: with higher activation, rising takes longer and falling less time (Millard, Uchida,
 * Seth, Delp 2013, as MuJoCo has it). */
static double muscle_time(const perp_actuator *a, double act, double u)
{
    double slow = 0.5 + 1.5 * perp__within(act, &UNIT), rise = a->rise * slow,
           fall = a->fall / slow, by = u - act;
    if (a->smooth == 0) return by > 0 ? rise : fall;
    double x = perp__within(by / a->smooth + 0.5, &UNIT);
    return fall + (rise - fall) * x * x * x * (3 * x * (2 * x - 5) + 10);
}

/* After a time h of a' = (u - a)/tau. */
static double approach(double act, double u, double h, double tau)
{
    return tau > 0 ? act - (u - act) * expm1(-h / tau) : u;
}

/* After a time h with constant u. A muscle's time constant is that at the midpoint: second order,
 * and always between a and u. */
static double activation_after(const perp_actuator *a, double act, double u, double h)
{
    if (a->activation == PERP_ACTIVATION_INTEGRATOR) act += h * u;
    if (a->activation == PERP_ACTIVATION_FILTER) act = approach(act, u, h, a->rise);
    if (a->activation == PERP_ACTIVATION_MUSCLE) {
        u = perp__within(u, &UNIT);
        double half = approach(act, u, 0.5 * h, muscle_time(a, act, u));
        act = approach(act, u, h, muscle_time(a, half, u));
    }
    return perp__within(act, &a->activation_range);
}

static double control_of(const perp_bodies *b, int i)
{
    const perp_actuator *a = &b->joints->actuator[i];
    return perp__within(b->joints->control[i], &a->control_range);
}

void perp__activations_move(perp_bodies *b, double h)
{
    perp__joints *j = b->joints;
    for (int i = 0; i < j->nu; i++)
        if (j->actuator[i].activation)
            j->act[i] = activation_after(&j->actuator[i], j->act[i], control_of(b, i), h);
}

void perp__activations_keep(perp_bodies *b)
{
    perp__joints *j = b->joints;
    if (j->nu) memcpy(j->act + j->nu, j->act, (size_t)j->nu * sizeof *j->act);
}

void perp__activations_back(perp_bodies *b)
{
    perp__joints *j = b->joints;
    if (j->nu) memcpy(j->act, j->act + j->nu, (size_t)j->nu * sizeof *j->act);
}

const double *perp_bodies_activation(const perp_bodies *b)
{
    return b->joints->act;
}

perp_status perp_bodies_set_activation(perp_bodies *b, const double *act)
{
    if (!b || (!act && b->joints->nu)) return PERP_ERR_ARG;
    perp__joints *j = b->joints;
    for (int i = 0; i < j->nu; i++)
        if (j->actuator[i].activation && !isfinite(act[i])) return PERP_ERR_ARG;
    for (int i = 0; i < j->nu; i++) {
        const perp_actuator *a = &j->actuator[i];
        if (a->activation) j->act[i] = perp__within(act[i], &a->activation_range);
    }
    return PERP_OK;
}

/* Muscles -------------------------------------------------------------------------------------- */

/* A curve and its slope. */
typedef struct curve {
    double y, slope;
} curve;

/* Half of the square of a distance from `from`, which is 1 at `to`. */
static curve parabola(double x, double from, double to)
{
    double unit = 1 / (to - from), part = (x - from) * unit;
    return (curve){0.5 * part * part, part * unit};
}

static curve top_less(curve c)
{
    return (curve){1 - c.y, -c.slope};
}

static curve active_by_length(const perp_muscle *m, double L)
{
    double a = 0.5 * (m->lmin + 1), b = 0.5 * (1 + m->lmax);
    if (L <= m->lmin || L >= m->lmax) return (curve){0, 0};
    if (L <= a) return parabola(L, m->lmin, a);
    if (L <= 1) return top_less(parabola(L, 1, a));
    return L <= b ? top_less(parabola(L, 1, b)) : parabola(L, m->lmax, b);
}

static curve active_by_speed(const perp_muscle *m, double V)
{
    double y = m->fvmax - 1;
    if (V <= -1) return (curve){0, 0};
    if (V <= 0) return (curve){(V + 1) * (V + 1), 2 * (V + 1)};
    if (V <= y) return (curve){m->fvmax - (y - V) * (y - V) / y, 2 * (y - V) / y};
    return (curve){m->fvmax, 0};
}

static curve passive_by_length(const perp_muscle *m, double L)
{
    double b = 0.5 * (1 + m->lmax);
    if (L <= 1) return (curve){0, 0};
    curve c = L <= b ? parabola(L, 1, b) : (curve){0.5 + (L - b) / (b - 1), 1 / (b - 1)};
    return (curve){m->fpmax * c.y, m->fpmax * c.slope};
}

/* The force at length l and rate w, and its slopes by both where these hold back. */
static perp__line muscle_line(const perp_muscle *m, double act, double l, double w)
{
    double unit = (m->length[1] - m->length[0]) / (m->range[1] - m->range[0]),
           L = m->range[0] + (l - m->length[0]) / unit, speed = unit * m->vmax;
    curve FL = active_by_length(m, L), FV = active_by_speed(m, w / speed),
          FP = passive_by_length(m, L);
    double force = -m->force * (act * FL.y * FV.y + FP.y);
    perp__line line = {
        .kp = fmax(m->force * (act * FL.slope * FV.y + FP.slope) / unit, 0),
        .kv = fmax(m->force * act * FL.y * FV.slope / speed, 0),
    };
    line.force = force + line.kp * l + line.kv * w;
    line.size = fabs(force) + fabs(line.kp * l) + fabs(line.kv * w);
    return line;
}

/* Forces --------------------------------------------------------------------------------------- */

/* What stands for the control in the force. */
double perp__drive_input(const perp_bodies *b, int i)
{
    const perp_actuator *a = &b->joints->actuator[i];
    double u = control_of(b, i), act = b->joints->act[i], h = b->h;
    if (!a->activation) return u;
    if (perp__is_midpoint(b)) return activation_after(a, act, u, 0.5 * h);
    return a->is_early ? activation_after(a, act, u, h) : act;
}

perp__line perp__drive_line(const perp_bodies *b, int i)
{
    const perp_actuator *a = &b->joints->actuator[i];
    double u = perp__drive_input(b, i);
    if (a->muscle.force == 0)
        return (perp__line){.force = a->gain * u + a->bias,
                            .kp = a->kp + u * a->kp_per_control,
                            .kv = a->kv + u * a->kv_per_control,
                            .size = fabs(a->gain * u) + fabs(a->bias)};
    const perp__link *l = &b->link[a->body];
    double length = a->tendon ? perp__tendon_length(b, a->tendon) : b->here[l->q],
           rate = a->tendon ? perp__tendon_rate(b, a->tendon, b->v) : b->v[l->v];
    return muscle_line(&a->muscle, u, a->gear * length, a->gear * rate);
}
