/* The sum of |terms| of each value, and the bound of its rounding. One pass over a tape after its
 * evaluation (docs/adr/008-verdicts.md). In a product each factor's terms count with the other's
 * value: S(a b) = |a| S(b) + |b| S(a) - |a b|. */

#include "model/tape.h"

#include <math.h>

static double finite_or_0(double x)
{
    return isfinite(x) ? x : 0;
}

/* Of an argument that has no unit: a change by 1 is all that can matter. */
static perp__terms pure(perp__terms A)
{
    return (perp__terms){A.scale > 1 ? 1 : A.scale, A.rounding};
}

/* f(a) with |f'(a)| = slope: what the argument's terms change. */
static perp__terms moved(double f, double slope, perp__terms A)
{
    return (perp__terms){fabs(f) + finite_or_0(slope * A.scale),
                         fabs(f) + finite_or_0(slope * A.rounding)};
}

/* Of a sine f the |cosine|, of a cosine the |sine|: not below it, as f is rounded, and 2^-25 above
 * it at most. A third of the time of another call. */
static double beside(double f)
{
    return sqrt((1 - f) * (1 + f)) + 0x1p-26;
}

/* The angle f of the vector (b, a). */
static perp__terms moved_by_both(double f, double a, double b, perp__terms A, perp__terms B)
{
    double x = fabs(a), y = fabs(b), z = fabs(f), square = x * x + y * y;
    return (perp__terms){z + finite_or_0((y * A.scale + x * B.scale) / square),
                         z + finite_or_0((y * A.rounding + x * B.rounding) / square)};
}

/* The terms that a quotient, a power, a comparison or a function is made of. */
static perp__terms of_others(int op, double a, double b, double f, perp__terms A, perp__terms B)
{
    double x = fabs(a), y = fabs(b), z = fabs(f);
    switch ((perp__op)op) {
#define PERP_FUNCTION(name, arity, text, value, derivative, terms, ...)                            \
    PERP__CASE(PERP__##name, terms)
#include "model/ops.def"
    case PERP__DIV:
        return (perp__terms){(A.scale + z * B.scale) / y - z,
                             (A.rounding + z * B.rounding) / y + z};
    case PERP__POW: { /* d(a^b) = f (b da/a + log(a) db) */
        double base = finite_or_0(z * y / x), power = finite_or_0(z * fabs(log(x)));
        return (perp__terms){z + base * fmax(A.scale - x, 0), /* as the product of its factors */
                             base * A.rounding + power * B.rounding + z};
    }
    case PERP__LE:
    case PERP__LT: return (perp__terms){z, 0};
    case PERP__STEP:
    case PERP__CONST:
    case PERP__SYMBOL:
    case PERP__ADD: /* these four: perp__tape_terms */
    case PERP__SUB:
    case PERP__MUL:
    case PERP__NEG:
    case PERP__OP_COUNT: break;
    }
    return (perp__terms){z, z};
}

/* A run of these terms of what is made of A and B, with values a and b and the size f of the
 * result. */
#define RUN(...)                                                                                   \
    do {                                                                                           \
        double a = fabs(ws[code[i].a]), b = fabs(ws[code[i].b]), f = fabs(value[i]);               \
        perp__terms A = term[code[i].a], B = term[code[i].b];                                      \
        (void)a, (void)b, (void)f, (void)B;                                                        \
        result[i] = (perp__terms){__VA_ARGS__};                                                    \
    } while (++i < n);                                                                             \
    break

void perp__tape_terms(const perp__tape *tape, const double *ws, const int *before,
                      perp__terms *term)
{
    const double *value = ws + tape->first;
    perp__terms *result = term + tape->first;
    const perp__instruction *code = tape->code, *end = code + tape->ncode;
    for (int i = 0; i < tape->nconst; i++) *result++ = (perp__terms){fabs(*value++), 0};
    for (long n; code < end; code += n, value += n, result += n) {
        long i = 0;
        n = code->run;
        switch (code->op) {
        case PERP__SUB:
            do {
                int is_increment =
                    before && code[i].a < tape->first && before[code[i].a] == code[i].b;
                perp__terms A = term[code[i].a], B = term[code[i].b];
                double f = fabs(value[i]);
                result[i] = (perp__terms){is_increment ? f : A.scale + B.scale,
                                          A.rounding + B.rounding + f};
            } while (++i < n);
            break;
        case PERP__ADD: RUN(A.scale + B.scale, A.rounding + B.rounding + f);
        case PERP__MUL: RUN(a * B.scale + b * A.scale - f, a * B.rounding + b * A.rounding + f);
        case PERP__NEG: RUN(A.scale, A.rounding);
        default:
            do {
                result[i] = of_others(code->op, ws[code[i].a], ws[code[i].b], value[i],
                                      term[code[i].a], term[code[i].b]);
            } while (++i < n);
        }
    }
}
