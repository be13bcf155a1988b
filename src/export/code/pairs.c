/* ---- Numbers in two floats ----------------------------------------------------------------------
 *
 * hi + lo with |lo| <= half a unit in the last place of hi: 48 bits. Sums and products by
 * error-free transformations (Dekker 1971; Joldes, Muller and Popescu 2017, algorithms 6 and 11),
 * which hold where each operation is rounded to a float. */

#define IS_COMPARED (USES_MIN || USES_MAX || USES_LE || USES_LT)

typedef struct twofold {
    real hi, lo;
} twofold;

/* a + b where |a| >= |b|. */
static twofold ordered_sum(real a, real b)
{
    twofold z;
    z.hi = a + b;
    z.lo = b - (z.hi - a);
    return z;
}

static twofold sum_of(real a, real b)
{
    twofold z;
    z.hi = a + b;
    real b_there = z.hi - a, a_there = z.hi - b_there;
    z.lo = (a - a_there) + (b - b_there);
    return z;
}

static twofold twofold_add(twofold x, twofold y)
{
    twofold s = sum_of(x.hi, y.hi), t = sum_of(x.lo, y.lo);
    s = ordered_sum(s.hi, s.lo + t.hi);
    return ordered_sum(s.hi, s.lo + t.lo);
}

#if USES_NEG || USES_ABS || USES_SIN || USES_COS || USES_TAN
static twofold twofold_neg(twofold x)
{
    twofold z = {-x.hi, -x.lo};
    return z;
}
#endif

#if USES_SUB || USES_DIV || USES_TAN || IS_COMPARED
static twofold twofold_sub(twofold x, twofold y)
{
    twofold z = {-y.hi, -y.lo};
    return twofold_add(x, z);
}
#endif

#if USES_MUL || USES_DIV || USES_SQRT || USES_SIN || USES_COS || USES_TAN
static twofold product_of(real a, real b)
{
    twofold z;
    z.hi = a * b;
#if defined FP_FAST_FMAF || defined __FP_FAST_FMAF
    z.lo = fmaf(a, b, -z.hi);
#else
    real p = R(4097) * a, q = R(4097) * b;
    real a1 = p - (p - a), a2 = a - a1, b1 = q - (q - b), b2 = b - b1;
    z.lo = ((a1 * b1 - z.hi) + a1 * b2 + a2 * b1) + a2 * b2;
#endif
    return z;
}

static twofold twofold_mul(twofold x, twofold y)
{
    twofold z = product_of(x.hi, y.hi);
    return ordered_sum(z.hi, z.lo + (x.hi * y.lo + x.lo * y.hi));
}
#endif

#if USES_DIV || USES_TAN
static twofold twofold_div(twofold x, twofold y)
{
    twofold q = {x.hi / y.hi, 0};
    twofold rest = twofold_sub(x, twofold_mul(q, y));
    return ordered_sum(q.hi, rest.hi / y.hi);
}
#endif

#if USES_SQRT
static twofold twofold_sqrt(twofold x)
{
    twofold z = {sqrtf(x.hi), 0};
    if (!(z.hi > 0)) return z;
    twofold square = product_of(z.hi, z.hi);
    return ordered_sum(z.hi, ((x.hi - square.hi) - square.lo + x.lo) / (2 * z.hi));
}
#endif

#if USES_SIN || USES_COS || USES_TAN
/* x less the nearest multiple of pi/2, and which one of four it is. */
static twofold reduce(twofold x, int *quarter)
{
    static const real part[] = {R(-1.5707963705062866211), R(4.3711388286737929e-8),
                                R(1.7151245100058819e-15)};
    real n = floorf(x.hi * R(0.636619772) + R(0.5));
    for (int k = 0; k < 3; k++) x = twofold_add(x, product_of(n, part[k]));
    *quarter = (int)(n - 4 * floorf(n / 4));
    return x;
}

/* The sine of x for |x| <= pi/4, or the cosine: Taylor's series to x^15, x^16. */
static twofold series(twofold x, int is_cosine)
{
    static const twofold odd[] = {{R(1.0), R(0.0)},
                                  {R(-0.1666666716337204), R(4.9670538793122887e-9)},
                                  {R(0.0083333337679505348), R(-4.3461720333759502e-10)},
                                  {R(-0.00019841270113829523), R(2.7255968749334558e-12)}};
    static const twofold even[] = {{R(1.0), R(0.0)},
                                   {R(-0.5), R(0.0)},
                                   {R(0.041666667908430099), R(-1.2417634698280722e-9)},
                                   {R(-0.0013888889225199819), R(3.3631094437103215e-11)},
                                   {R(2.4801587642286904e-5), R(-3.4069960936668198e-13)}};
    const twofold *c = is_cosine ? even : odd;
    twofold square = twofold_mul(x, x), sum = {0, 0};
    real s = square.hi;
    if (is_cosine)
        sum.hi = R(-2.755731922e-7) + s * (R(2.087675699e-9) - s * R(1.147074560e-11));
    else
        sum.hi = R(2.755731922e-6) +
                 s * (R(-2.505210839e-8) + s * (R(1.605904384e-10) - s * R(7.647163732e-13)));
    for (int k = is_cosine ? 4 : 3; k >= 0; k--) sum = twofold_add(twofold_mul(sum, square), c[k]);
    return is_cosine ? sum : twofold_mul(sum, x);
}

/* The sine of x + shift pi/2. From 1e5 on a float has nothing behind its point. */
static twofold sine(twofold x, int shift)
{
    int quarter;
    if (!(fabsf(x.hi) < R(1e5))) {
        twofold plain = {shift ? cosf(x.hi) : sinf(x.hi), 0};
        return plain;
    }
    x = reduce(x, &quarter);
    quarter = (quarter + shift) % 4;
    x = series(x, quarter % 2);
    return quarter < 2 ? x : twofold_neg(x);
}
#endif

#if USES_SIN
static twofold twofold_sin(twofold x)
{
    return sine(x, 0);
}
#endif

#if USES_COS
static twofold twofold_cos(twofold x)
{
    return sine(x, 1);
}
#endif

#if USES_TAN
static twofold twofold_tan(twofold x)
{
    return twofold_div(sine(x, 0), sine(x, 1));
}
#endif

#if USES_ABS
static twofold twofold_abs(twofold x)
{
    return x.hi < 0 ? twofold_neg(x) : x;
}
#endif

#if IS_COMPARED
static real difference(twofold x, twofold y)
{
    return twofold_sub(x, y).hi;
}
#endif

#if USES_MIN
static twofold twofold_min(twofold x, twofold y)
{
    return difference(x, y) < 0 ? x : y;
}
#endif

#if USES_MAX
static twofold twofold_max(twofold x, twofold y)
{
    return difference(x, y) > 0 ? x : y;
}
#endif

#if USES_LE
static twofold twofold_le(twofold x, twofold y)
{
    twofold z = {(real)(difference(x, y) <= 0), 0};
    return z;
}
#endif

#if USES_LT
static twofold twofold_lt(twofold x, twofold y)
{
    twofold z = {(real)(difference(x, y) < 0), 0};
    return z;
}
#endif
