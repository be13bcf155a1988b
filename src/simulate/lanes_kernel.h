/* The operations of lanes.c on all lanes at once. lanes.c includes this once for every instruction
 * set: ISA is the suffix of the names, TARGET the attribute of the functions. No result depends on
 * it. A set of lanes is a number whose bit l is lane l. */

#define JOIN_(name, isa)    name##_##isa
#define JOIN(name, isa)     JOIN_(name, isa)
#define K(name)             JOIN(name, ISA)
#define INLINE              static inline PERP_INLINE TARGET
#define VEC                 PERP_LANES(ISA) /* of a number, one of each lane */
#define CLAIM               PERP_CLAIM(ISA)
#define LESS(x, y)          PERP_LESS(ISA, x, y)
#define AT_MOST(x, y)       PERP_AT_MOST(ISA, x, y)
#define SIZE(x)             PERP_ABS(ISA, x)
#define LARGEST(x, y)       PERP_LARGER(ISA, x, y)
#define PICK(mask, yes, no) PERP_PICK(ISA, mask, yes, no)
#define BUT(mask, x)        PERP_BUT(ISA, mask, x)
#define BITS(mask)          PERP_BITS(ISA, mask)
#define CLAIM_OF(bits)      PERP_CLAIM_OF(ISA, bits)
#define WIDE                ((size_t)(sizeof(VEC) / sizeof(double)))
#define ALL                 ((1U << WIDE) - 1)
#define AT(x)               (*(VEC *)(x))
#define FROM(x)             (*(const VEC *)(x))

/* The first `count` slots of all lanes, out of their own workspaces. */
static TARGET void K(take)(perp__lanes *x, int count)
{
    const size_t n = (size_t)x->n;
    const int wide = WIDE < 4 ? 0 : count / 4 * 4;
    for (size_t l = 0; l < n; l += WIDE) {
        for (int i = 0; i < wide; i += 4) {
            const double *from[WIDEST];
            VEC value[4];
            for (size_t k = 0; k < WIDE; k++) from[k] = x->own[l + k] + i;
            PERP_GATHER(ISA, from, value);
            for (int k = 0; k < 4; k++) AT(x->ws + (size_t)(i + k) * n + l) = value[k];
        }
        for (size_t k = l; k < l + WIDE; k++)
            for (int i = wide; i < count; i++) x->ws[(size_t)i * n + k] = x->own[k][i];
    }
}

/* And back, of those that go together. */
static TARGET void K(give)(const perp__lanes *x, int count)
{
    const size_t n = (size_t)x->n;
    for (size_t l = 0; l < n; l += WIDE) {
        const unsigned here = (unsigned)(x->going >> l) & ALL;
        const int wide = WIDE < 4 || here != ALL ? 0 : count / 4 * 4;
        for (int i = 0; i < wide; i += 4) {
            VEC value[4];
            double to[4 * WIDEST];
            for (int k = 0; k < 4; k++) value[k] = FROM(x->ws + (size_t)(i + k) * n + l);
            PERP_SCATTER(ISA, value, to);
            for (size_t k = 0; k < WIDE; k++)
                memcpy(x->own[l + k] + i, to + 4 * k, 4 * sizeof(double));
        }
        for (size_t k = 0; k < WIDE; k++)
            for (int i = wide; (here >> k & 1) && i < count; i++)
                x->own[l + k][i] = x->ws[(size_t)i * n + l + k];
    }
}

/* As perp__run_begin_step: times, states, inputs that are held; and the largest that states have
 * been. */
static TARGET void K(begin)(perp__lanes *x, const perp__step *s)
{
    const size_t n = (size_t)x->n;
    double *ws = x->ws, *table = ws + (size_t)s->layout->sym.table * n,
           *table_pre = ws + (size_t)s->layout->sym.table_pre * n;
    for (size_t l = 0; l < n; l += WIDE) {
        VEC start = FROM(x->start + l), ticks = FROM(x->ticks + l), next = ticks + 1;
        AT(ws + SYM_T_PRE * n + l) = start + ticks * x->step;
        AT(ws + SYM_T * n + l) = start + next * x->step;
        AT(x->ticks + l) = next;
    }
    for (size_t i = 0; i < (size_t)s->layout->nx; i++) {
        const double *state = ws + ((size_t)s->layout->sym.y + i) * n;
        double *pre = ws + ((size_t)s->layout->sym.pre + i) * n, *history = x->history + i * n;
        for (size_t l = 0; l < n; l += WIDE) {
            VEC value = FROM(state + l);
            AT(pre + l) = value;
            AT(history + l) = LARGEST(SIZE(value), FROM(history + l));
        }
    }
    for (size_t k = 0; k < (size_t)s->layout->table.n; k++) {
        const double *held = x->held + k * n;
        for (size_t l = 0; x->source[k] == HELD && l < n; l += WIDE) {
            VEC value = FROM(held + l), before = FROM(table + k * n + l);
            AT(table_pre + k * n + l) = PICK(AT_MOST(before, before), before, value);
            AT(table + k * n + l) = value;
        }
    }
}

/* The lanes in which x > 0. */
static TARGET uint64_t K(positive)(const double *x, size_t n)
{
    uint64_t lanes = 0;
    for (size_t l = 0; l < n; l += WIDE) lanes |= (uint64_t)BITS(LESS((VEC){0}, FROM(x + l))) << l;
    return lanes;
}

/* The unknowns in the lanes of a mode, two vectors at a time. */
static TARGET void K(solve)(const perp__lanes *x, const perp__step *s, const mode *m)
{
    const size_t n = (size_t)x->n;
    double *unknown = x->ws + (size_t)s->layout->sym.y * n;
    for (size_t l = 0; l < n; l += 2 * WIDE) {
        VEC y[2 * MOST_UNKNOWNS];
        const unsigned here = (unsigned)(m->lanes >> l) & ALL,
                       next = (unsigned)(m->lanes >> l >> WIDE) & ALL;
        if (here == 0 && next == 0) continue;
        const double *ws = x->ws + l, *factor = m->factor;
        const int *of = m->of;
        for (int i = 0; i < m->nfirst; i++) {
            VEC a = (VEC){0}, b = a;
            for (const int *end = of + m->nterm[i]; of < end; factor++) {
                const double *c = ws + (size_t)*of++ * n;
                a += (0.0 - FROM(c)) * *factor;
                b += (0.0 - FROM(c + WIDE)) * *factor;
            }
            y[2 * m->unknown[i]] = a;
            y[2 * m->unknown[i] + 1] = b;
        }
        for (int i = m->nfirst; i < m->nfirst + m->nfollow; i++) {
            const double *c = ws + (size_t)*of++ * n;
            VEC a = FROM(c), b = FROM(c + WIDE);
            for (const int *end = of + m->nterm[i]; of < end; factor++) {
                const VEC *other = y + 2 * *of++;
                a += *factor * other[0];
                b += *factor * other[1];
            }
            y[2 * m->unknown[i]] = (0.0 - a) / *factor;
            y[2 * m->unknown[i] + 1] = (0.0 - b) / *factor++;
        }
        const CLAIM is_here = CLAIM_OF(here), is_next = CLAIM_OF(next);
        for (size_t i = 0; i < (size_t)s->layout->ny; i++) {
            double *to = unknown + i * n + l;
            AT(to) = PICK(is_here, y[2 * i], FROM(to));
            AT(to + WIDE) = PICK(is_next, y[2 * i + 1], FROM(to + WIDE));
        }
    }
}

/* Verdict: what perp__step_verify finds without looking at terms. ------------------------------ */

/* A pair in some lanes: those in which it holds, and its sides as two bits of a number. */
typedef struct K(pair) {
    unsigned holds, low, high;
} K(pair);

INLINE K(pair) K(judge_pair)(VEC a, VEC b)
{
    const VEC zero = (VEC){0};
    unsigned p = BITS(LESS(zero, a)), q = BITS(LESS(zero, b));
    unsigned holds = BITS(AT_MOST(zero, a)) & BITS(AT_MOST(zero, b)) & ~(p & q);
    return (K(pair)){holds, ~p & ~q, q & ~p}; /* 0 a > 0, 1 both 0, 2 b > 0 */
}

INLINE K(pair) K(judge_box)(VEC a, VEC e, VEC lo, VEC hi)
{
    const VEC zero = (VEC){0};
    unsigned above = BITS(AT_MOST(lo, a)), below = BITS(AT_MOST(a, hi));
    unsigned is_low = BITS(AT_MOST(a, lo)), is_high = BITS(AT_MOST(hi, a));
    unsigned p = BITS(LESS(zero, e)), q = BITS(LESS(e, zero)), is_zero = BITS(AT_MOST(e, e));
    is_zero &= ~p & ~q;
    unsigned at_side = (p & is_low) | (q & is_high) | is_zero;
    unsigned upper = q | (~p & ~is_low & is_high);
    return (K(pair)){above & below & at_side, ~p & ~q & ~is_low & ~is_high, upper};
}

/* In which lanes do all conditions hold? Their errors, residuals and sides are left in x. */
static TARGET uint64_t K(judge)(perp__lanes *x, const perp__step *s)
{
    const size_t n = (size_t)x->n;
    const double *ws = x->ws;
    const perp_model *m = s->model;
    const VEC zero = (VEC){0}, tol = zero + s->tol, most = zero + DBL_MAX;
    uint64_t all = 0;
    memset(x->side, 0, 2 * (size_t)m->npair * sizeof *x->side);
    for (size_t l = 0; l < n; l += WIDE) {
        VEC worst = zero, residual = zero;
        unsigned holds = ALL;
        const int *out = s->layout->tape.check.out;
        for (int i = 0; i < s->layout->nown; i++, out += 2) {
            VEC left = FROM(ws + (size_t)out[0] * n + l), right = FROM(ws + (size_t)out[1] * n + l);
            VEC r = SIZE(left - right), sure = SIZE(left) + SIZE(right);
            VEC error = BUT(AT_MOST(r, zero), r / sure);
            holds &= BITS(AT_MOST(error, tol));
            residual = LARGEST(r, residual);
            worst = LARGEST(error, worst);
        }
        AT(x->residual + l) = residual;
        AT(x->error + l) = worst;
        for (int i = 0; i < m->npair; i++) {
            const int two = m->pair[i].two_sided, g = s->layout->tape.guard_of[i];
            VEC a = FROM(ws + (size_t)out[0] * n + l), b = FROM(ws + (size_t)out[1] * n + l);
            K(pair)
            p = two ? K(judge_box)(a, b, FROM(ws + (size_t)out[2] * n + l),
                                   FROM(ws + (size_t)out[3] * n + l))
                    : K(judge_pair)(a, b);
            if (g >= 0) {
                unsigned on = (unsigned)(x->on[g] >> l);
                p.holds = (p.holds & on) | (BITS(AT_MOST(SIZE(a), zero)) & ~on);
                p.low |= ~on;
                p.high |= ~on; /* 3 off */
            }
            holds &= p.holds;
            x->side[2 * i] |= (uint64_t)(p.low & ALL) << l;
            x->side[2 * i + 1] |= (uint64_t)(p.high & ALL) << l;
            out += two ? 4 : 2;
        }
        for (int d = 0; d < s->layout->sym.assigned.n; d++)
            holds &= BITS(AT_MOST(SIZE(FROM(ws + (size_t)out[d] * n + l)), most));
        all |= (uint64_t)holds << l;
    }
    return all;
}

/* The end of perp__run_step: the worst so far, and after how many steps. */
static TARGET void K(note)(perp__lanes *x)
{
    const size_t n = (size_t)x->n;
    for (size_t l = 0; l < n; l += WIDE) {
        VEC residual = FROM(x->residual + l), worst = FROM(x->worst_residual + l);
        CLAIM more = LESS(worst, residual);
        AT(x->worst_residual + l) = PICK(more, residual, worst);
        AT(x->worst_at + l) = PICK(more, FROM(x->ticks + l), FROM(x->worst_at + l));
        AT(x->worst_error + l) = LARGEST(FROM(x->error + l), FROM(x->worst_error + l));
    }
}

static const kernels K(kernels) = {K(take),  K(give),  K(begin), K(positive),
                                   K(solve), K(judge), K(note)};

#undef JOIN_
#undef JOIN
#undef K
#undef INLINE
#undef VEC
#undef CLAIM
#undef LESS
#undef AT_MOST
#undef SIZE
#undef LARGEST
#undef PICK
#undef BUT
#undef BITS
#undef CLAIM_OF
#undef WIDE
#undef ALL
#undef AT
#undef FROM
#undef ISA
#undef TARGET
