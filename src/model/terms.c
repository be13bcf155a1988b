/* Of which terms is a value the sum, and how much rounding is in it? One pass over a tape after its evaluation
 * (docs/adr/008-verdicts.md). In a product each factor's terms count with the other's value: S(a b) = |a| S(b) + |b| S(a) - |a b|. */

#include "model/tape.h"

#include <math.h>

/* |f'(a)| of a function of one argument, given its value f; 0 where it is flat. */
static double slope(int op, double a, double f)
{
    switch ((perp__op)op) {
    case PERP__SIN: return fabs(cos(a));
    case PERP__COS: return fabs(sin(a));
    case PERP__TAN: return 1 + f * f;
    case PERP__ASIN:
    case PERP__ACOS: return 1 / sqrt((1 - a) * (1 + a));
    case PERP__ATAN: return 1 / (1 + a * a);
    case PERP__TANH: return (1 - f) * (1 + f);
    case PERP__EXP: return f;
    case PERP__LOG: return fabs(1 / a);
    case PERP__SQRT: return 0.5 / f;
    case PERP__ABS: return 1;
    case PERP__SIGN:
    case PERP__STEP: return 0;
    case PERP__CONST:
    case PERP__SYMBOL:
    case PERP__ADD:
    case PERP__SUB:
    case PERP__MUL:
    case PERP__DIV:
    case PERP__POW:
    case PERP__NEG:
    case PERP__ATAN2:
    case PERP__MIN:
    case PERP__MAX:
    case PERP__LE:
    case PERP__LT:
    case PERP__OP_COUNT: break;
    }
    return 0;
}

/* The argument of these has no unit: a change by 1 is all that can matter. */
static int has_pure_argument(int op)
{
    return op == PERP__SIN || op == PERP__COS || op == PERP__TAN || op == PERP__EXP;
}

static double finite_or_0(double x)
{
    return isfinite(x) ? x : 0;
}

/* f(a): what the argument's terms change. */
static perp__terms of_function(int op, double a, double f, perp__terms A)
{
    double by = slope(op, a, f), S = has_pure_argument(op) && A.scale > 1 ? 1 : A.scale;
    if (op == PERP__ABS) return A;
    return (perp__terms){fabs(f) + finite_or_0(by * S), fabs(f) + finite_or_0(by * A.rounding)};
}

/* The terms that a quotient, a choice or a function of two arguments is made of. */
static perp__terms of_pair(int op, double a, double b, double f, perp__terms A, perp__terms B)
{
    double x = fabs(a), y = fabs(b), z = fabs(f);
    switch ((perp__op)op) {
    case PERP__DIV:
        return (perp__terms){(A.scale + z * B.scale) / y - z,
                             (A.rounding + z * B.rounding) / y + z};
    case PERP__POW: { /* d(a^b) = f (b da/a + log(a) db) */
        double base = finite_or_0(z * y / x), power = finite_or_0(z * fabs(log(x)));
        return (perp__terms){z, base * A.rounding + power * B.rounding + z};
    }
    case PERP__ATAN2: {
        double square = x * x + y * y;
        return (perp__terms){z + finite_or_0((y * A.scale + x * B.scale) / square),
                             z + finite_or_0((y * A.rounding + x * B.rounding) / square)};
    }
    case PERP__MIN: return a <= b ? A : B;
    case PERP__MAX: return a >= b ? A : B;
    case PERP__LE:
    case PERP__LT: return (perp__terms){z, 0};
    case PERP__CONST:
    case PERP__SYMBOL:
    case PERP__ADD: /* these four: perp__tape_terms */
    case PERP__SUB:
    case PERP__MUL:
    case PERP__NEG:
    case PERP__SIN:
    case PERP__COS:
    case PERP__TAN:
    case PERP__ASIN:
    case PERP__ACOS:
    case PERP__ATAN:
    case PERP__TANH:
    case PERP__EXP:
    case PERP__LOG:
    case PERP__SQRT:
    case PERP__ABS:
    case PERP__SIGN:
    case PERP__STEP:
    case PERP__OP_COUNT: break;
    }
    return (perp__terms){z, z};
}

void perp__tape_terms(const perp__tape *tape, const double *ws, const int *before,
                      perp__terms *term)
{
    const double *value = ws + tape->first;
    perp__terms *result = term + tape->first;
    for (int i = 0; i < tape->nconst; i++) *result++ = (perp__terms){fabs(*value++), 0};
    for (int k = 0; k < tape->ncode; k++, result++, value++) {
        const perp__instruction *code = &tape->code[k];
        double a = ws[code->a], b = ws[code->b], f = fabs(*value);
        perp__terms A = term[code->a], B = term[code->b];
        switch (code->op) {
        case PERP__SUB:
            if (before && code->a < tape->first && before[code->a] == code->b) {
                *result = (perp__terms){f, A.rounding + B.rounding + f};
                break;
            }
            /* fall through */
        case PERP__ADD:
            *result = (perp__terms){A.scale + B.scale, A.rounding + B.rounding + f};
            break;
        case PERP__MUL:
            a = fabs(a), b = fabs(b);
            *result =
                (perp__terms){a * B.scale + b * A.scale - f, a * B.rounding + b * A.rounding + f};
            break;
        case PERP__NEG: *result = A; break;
        default:
            *result = perp__op_arity(code->op) == 1 ? of_function(code->op, a, *value, A)
                                                    : of_pair(code->op, a, b, *value, A, B);
        }
    }
}
