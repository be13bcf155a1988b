/* Numbers as text: reading rounds correctly, writing is the shortest text that reads back. Integers
 * only, so that neither locale nor rounding mode matters. */

#include "base/number.h"

#include "base/powers_of_ten.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

/* Reading keeps this many digits of a number's text. A double on the border of two others has
 * 767. */
enum { MOST_DIGITS = 800, FRACTION_BITS = 52, LARGEST_EXPONENT = 100000 };

static const uint64_t INFINITE = (uint64_t)0x7FF << FRACTION_BITS;

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

typedef struct pair {
    uint64_t high, low;
} pair;

static pair multiply(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    wide p = (wide)a * b;
    return (pair){(uint64_t)(p >> 64), (uint64_t)p};
#else
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)middle;
    return (pair){a1 * b1 + (middle >> 32) + (other >> 32), other << 32 | (uint32_t)low};
#endif
}

/* The upper 128 bits of the 192 of p w. */
static pair leading_product(pair p, uint64_t w)
{
    uint64_t carry = multiply(p.low, w).high;
    pair x = multiply(p.high, w);
    x.low += carry;
    x.high += x.low < carry;
    return x;
}

/* The largest integers not above log2(10^k), log10(2^e) and log10(3/4 2^e); >> keeps the sign. */
static int log2_of_power(int k)
{
    return (k * 1741647) >> 19;
}

static int log10_of_power(int e)
{
    return (e * 1262611) >> 22;
}

static int log10_of_three_quarters(int e)
{
    return (e * 1262611 - 524031) >> 22;
}

static pair power_below(int k)
{
    const uint64_t *p = perp__power_of_ten[k - PERP__LEAST_POWER];
    return (pair){p[0], p[1]};
}

static pair power_above(int k)
{
    pair p = power_below(k);
    int is_exact = k >= 0 && k <= 55;
    p.low += !is_exact;
    p.high += !is_exact && p.low == 0;
    return p;
}

/* Large integers: those that reading compares have less than 2800 bits. ------------------------ */

typedef struct big {
    int n;
    uint32_t part[100];
} big;

static void big_multiply_add(big *x, uint32_t factor, uint32_t summand)
{
    uint64_t carry = summand;
    for (int i = 0; i < x->n; i++) {
        carry += (uint64_t)x->part[i] * factor;
        x->part[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) x->part[x->n++] = (uint32_t)carry;
}

static void big_multiply_power(big *x, uint32_t base, int exponent)
{
    for (; exponent > 0; exponent--) big_multiply_add(x, base, 0);
}

static void big_shift(big *x, int bits)
{
    int words = bits / 32;
    big_multiply_add(x, (uint32_t)1 << bits % 32, 0);
    memmove(x->part + words, x->part, (size_t)x->n * sizeof *x->part);
    memset(x->part, 0, (size_t)words * sizeof *x->part);
    x->n += words;
}

static int big_compare(const big *x, const big *y)
{
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    for (int i = x->n - 1; i >= 0; i--) {
        if (x->part[i] != y->part[i]) return x->part[i] < y->part[i] ? -1 : 1;
    }
    return 0;
}

/* Reading -------------------------------------------------------------------------------------- */

/* Bits of the double nearest to m 2^e, ties to even; `more` says that the true m is a little
 * larger. The highest bit of m is 1. */
static uint64_t nearest(uint64_t m, int more, int e)
{
    int exponent = e + 63, drop = 64 - (FRACTION_BITS + 1), is_small = exponent < -1022;
    if (exponent > 1023) return INFINITE;
    if (is_small) drop += -1022 - exponent;
    if (drop > 64) return 0;
    uint64_t kept = drop < 64 ? m >> drop : 0, half = (uint64_t)1 << (drop - 1);
    uint64_t rest = m & (half | (half - 1));
    if (!is_small) kept += (uint64_t)(exponent + 1022) << FRACTION_BITS;
    return kept + (rest > half || (rest == half && (more || (kept & 1))));
}

static int leading_zeros(uint64_t m)
{
#ifdef __GNUC__
    return __builtin_clzll(m);
#else
    int n = 0;
    while (!(m << n >> 63)) n++;
    return n;
#endif
}

/* Bits of the double nearest to x 2^e; `more` says that the true x is a little larger. */
static uint64_t nearest_to_pair(pair x, int more, int e)
{
    if (!(x.high >> 63)) {
        x.high = x.high << 1 | x.low >> 63;
        x.low <<= 1;
        e--;
    }
    return nearest(x.high, x.low || more, e);
}

/* Bits of the double nearest to w p, where p stands for 10^k and w is not 0. */
static uint64_t nearest_product(uint64_t w, pair p, int k)
{
    int shift = leading_zeros(w);
    w <<= shift;
    return nearest_to_pair(leading_product(p, w), p.low * w != 0, log2_of_power(k) + 1 - shift);
}

/* A decimal number: digit[0..n) without the point, times 10^exponent. */
typedef struct decimal {
    const char *text;   /* there may be a point among them, and up to 18 zeros before */
    size_t length;      /* of the digits and the point */
    long long digits;   /* that there are */
    long long exponent; /* of the last digit */
    uint64_t leading;   /* the first 19 digits or all, and */
    int is_cut;         /* whether there are others than 0 behind them */
    long long leading_exponent;
} decimal;

/* Is the number above (1), at (0) or below (-1) the middle between the doubles of `bits` and bits +
 * 1? */
static int compare_with_middle(const decimal *d, uint64_t bits)
{
    uint64_t fraction = bits & (((uint64_t)1 << FRACTION_BITS) - 1);
    int e = (int)(bits >> FRACTION_BITS), k = (int)d->exponent, n = 0;
    size_t length = d->length;
    big number = {0}, middle = {0};
    while (d->text[length - 1] == '0' || d->text[length - 1] == '.') length--;
    for (size_t i = 0; i < length && n <= MOST_DIGITS; i++) {
        if (d->text[i] == '.') continue;
        int is_last = n++ == MOST_DIGITS; /* stands for all that follow */
        big_multiply_add(&number, 10, is_last ? 1 : (uint32_t)(d->text[i] - '0'));
    }
    k += (int)(d->digits - n);
    if (e) fraction |= (uint64_t)1 << FRACTION_BITS;
    fraction = 2 * fraction + 1;
    e = (e ? e : 1) - 1023 - FRACTION_BITS - 1;
    middle = (big){2, {(uint32_t)fraction, (uint32_t)(fraction >> 32)}};
    if (!middle.part[1]) middle.n = 1;
    big_multiply_power(k > 0 ? &number : &middle, 5, k > 0 ? k : -k);
    big_shift(k > e ? &number : &middle, k > e ? k - e : e - k);
    return big_compare(&number, &middle);
}

static uint64_t nearest_decimal(const decimal *d)
{
    if (!d->leading || d->leading_exponent < PERP__LEAST_POWER) return 0;
    if (d->leading_exponent > 308) return INFINITE;
    int k = (int)d->leading_exponent, shift = leading_zeros(d->leading);
    pair x = leading_product(power_below(k), d->leading << shift);
    if (!d->is_cut && x.low + 1 > 1) /* one more in the power changes no bit above these */
        return nearest_to_pair(x, 1, log2_of_power(k) + 1 - shift);
    uint64_t low = nearest_product(d->leading, power_below(k), k);
    uint64_t high = nearest_product(d->leading + (uint64_t)d->is_cut, power_above(k), k);
    if (low == high) return low;
    int order = compare_with_middle(d, low);
    return order > 0 || (order == 0 && (low & 1)) ? low + 1 : low;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int hex_digit(char c)
{
    int l = lower(c);
    if (is_digit(c)) return c - '0';
    if (l >= 'a' && l <= 'f') return l - 'a' + 10;
    return -1;
}

static int has_word(const char *s, const char *end, const char *word)
{
    for (; *word; s++, word++) {
        if (s == end || lower(*s) != *word) return 0;
    }
    return 1;
}

/* "e-12" at s, or nothing; returns where it ends. */
static const char *read_exponent(const char *s, const char *end, char letter, long long *exponent)
{
    const char *at = s + 1;
    long long x = 0;
    if (s == end || lower(*s) != letter) return s;
    int is_negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    if (at == end || !is_digit(*at)) return s;
    for (; at < end && is_digit(*at); at++) {
        if (x < (long long)1 << 40) x = 10 * x + (*at - '0');
    }
    *exponent += is_negative ? -x : x;
    return at;
}

/* The eight characters at s as a number, the first of them the lowest byte. */
static uint64_t eight_characters(const char *s)
{
    uint64_t x;
    memcpy(&x, s, 8);
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

static int trailing_zeros(uint64_t m)
{
#ifdef __GNUC__
    return __builtin_ctzll(m);
#else
    int n = 0;
    while (!(m >> n & 1)) n++;
    return n;
#endif
}

/* How many of eight characters are digits before the first that is none. */
static int count_digits(uint64_t x)
{
    uint64_t digits = x ^ 0x3030303030303030; /* 0 to 9 where there is one */
    uint64_t others = (digits | (digits + 0x7676767676767676)) & 0x8080808080808080;
    return others ? trailing_zeros(others) >> 3 : 8;
}

/* Of eight digits: first of each two, then of each four, then of all. */
static uint32_t value_of_eight(uint64_t x)
{
    x = (x & 0x0F0F0F0F0F0F0F0F) * 2561 >> 8;
    x = (x & 0x00FF00FF00FF00FF) * 6553601 >> 16;
    return (uint32_t)((x & 0x0000FFFF0000FFFF) * 42949672960001 >> 32);
}

/* Behind the digits at s; *m becomes what it was with them behind it, if that is less than 2^64. */
static inline const char *read_digits(const char *s, const char *end, uint64_t *m)
{
    static const uint32_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    int n = 8;
    for (; n == 8 && end - s >= 8; s += n) {
        uint64_t x = eight_characters(s);
        n = count_digits(x);
        if (n < 8) x = x << 8 * (7 - n) << 8; /* zeros before them */
        *m = power[n] * *m + value_of_eight(x);
    }
    for (; n == 8 && s < end && is_digit(*s); s++) *m = 10 * *m + (uint64_t)(*s - '0');
    return s;
}

/* A number of more than 19 digits: zeros at its front do not count, and what is behind 19 others is
 * cut. */
static void cut_digits(decimal *d)
{
    const char *s = d->text, *end = s + d->length;
    for (; s < end && (*s == '0' || *s == '.'); s++) d->digits -= *s == '0';
    d->text = s;
    d->length = (size_t)(end - s);
    if (d->digits <= 19) return;
    d->leading = 0;
    for (int n = 0; n < 19; s++) {
        if (*s == '.') continue;
        d->leading = 10 * d->leading + (uint64_t)(*s - '0');
        n++;
    }
    for (; s < end; s++) d->is_cut |= *s != '0' && *s != '.';
    d->leading_exponent += d->digits - 19;
}

static const char *read_decimal(const char *s, const char *end, uint64_t *bits)
{
    decimal d = {.text = s};
    uint64_t m = 0;
    int has_point = 0;
    for (; s < end && is_digit(*s); s++) m = 10 * m + (uint64_t)(*s - '0'); /* few */
    if (s < end && *s == '.') {
        const char *fraction = s + 1;
        has_point = 1;
        s = read_digits(fraction, end, &m);
        d.exponent = fraction - s;
    }
    d.leading = m;
    d.length = (size_t)(s - d.text);
    d.digits = s - d.text - has_point;
    if (d.digits == 0) return d.text;
    if (s < end && lower(*s) == 'e') s = read_exponent(s, end, 'e', &d.exponent);
    d.leading_exponent = d.exponent;
    if (d.digits > 19) cut_digits(&d);
    *bits = nearest_decimal(&d);
    return s;
}

/* What follows "0x": digits to the base 16 times a power of two. */
static const char *read_hexadecimal(const char *s, const char *end, uint64_t *bits)
{
    const char *start = s, *point = NULL;
    uint64_t m = 0;
    long long e = 0, any = 0;
    int more = 0;
    for (; s < end && (hex_digit(*s) >= 0 || (*s == '.' && !point)); s++) {
        if (*s == '.') {
            point = s;
            continue;
        }
        int has_room = !(m >> 60);
        any++;
        if (has_room)
            m = m << 4 | (uint64_t)hex_digit(*s);
        else
            more |= *s != '0';
        e += 4 * (!has_room - (point != NULL));
    }
    if (!any) return start;
    s = read_exponent(s, end, 'p', &e);
    int shift = m ? leading_zeros(m) : 0;
    m <<= shift;
    e -= shift;
    if (e > LARGEST_EXPONENT) e = LARGEST_EXPONENT;
    if (e < -LARGEST_EXPONENT) e = -LARGEST_EXPONENT;
    *bits = m ? nearest(m, more, (int)e) : 0;
    return s;
}

/* "nan" and what may stand in brackets behind it. */
static const char *behind_nan(const char *s, const char *end)
{
    const char *at = s += 3;
    if (at == end || *at != '(') return s;
    do at++;
    while (at < end && (is_digit(*at) || *at == '_' || (lower(*at) >= 'a' && lower(*at) <= 'z')));
    return at < end && *at == ')' ? at + 1 : s;
}

/* A number without its sign; returns where it ends, s where there is none. */
static const char *read_size(const char *s, const char *end, uint64_t *bits)
{
    int is_hexadecimal = has_word(s, end, "0x");
    if (s < end && is_digit(*s) && !is_hexadecimal) return read_decimal(s, end, bits);
    const char *rest = is_hexadecimal ? read_hexadecimal(s + 2, end, bits) : s;
    if (is_hexadecimal && rest > s + 2) return rest;
    if (has_word(s, end, "nan")) {
        *bits = INFINITE | (uint64_t)1 << (FRACTION_BITS - 1);
        return behind_nan(s, end);
    }
    if (!has_word(s, end, "inf")) return read_decimal(s, end, bits);
    *bits = INFINITE;
    return s + (has_word(s, end, "infinity") ? 8 : 3);
}

size_t perp__number_read(const char *text, size_t n, double *x)
{
    const char *s = text, *end = text + n;
    uint64_t bits = 0;
    while (s < end && (*s == ' ' || (*s >= '\t' && *s <= '\r'))) s++;
    int is_negative = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+')) s++;
    const char *rest = read_size(s, end, &bits);
    int has_sign = is_negative && bits <= INFINITE; /* messages would print that of a NaN */
    *x = from_bits(bits | (uint64_t)has_sign << 63);
    if (rest > s) return (size_t)(rest - text);
    *x = 0;
    return 0;
}

double perp_number_read(const char *text, const char **rest)
{
    double x = 0;
    size_t n = text ? perp__number_read(text, strlen(text), &x) : 0;
    if (rest) *rest = text + n;
    return x;
}

/* Writing: R. Giulietti, The Schubfach way to render doubles (2020) ---------------------------- */

/* p w, cut off to an odd number if it is not an integer: this keeps every comparison below. */
static uint64_t round_to_odd(pair p, uint64_t w)
{
    pair product = leading_product(p, w);
    return product.high | (product.low > 1);
}

/* shortest() where comparisons of 64 bits cannot decide. */
static uint64_t shortest_exactly(uint64_t c, pair p, int h, int is_near_below)
{
    uint64_t is_odd = c & 1;
    uint64_t lower_end = round_to_odd(p, (4 * c - 2 + (uint64_t)is_near_below) << h) + is_odd;
    uint64_t middle = round_to_odd(p, 4 * c << h);
    uint64_t upper_end = round_to_odd(p, (4 * c + 2) << h) - is_odd;
    uint64_t s = middle / 4, tens = s / 10;
    if (s >= 10) { /* with a digit less */
        int below = lower_end <= 40 * tens, above = 40 * tens + 40 <= upper_end;
        if (below != above) return 10 * (tens + (uint64_t)above);
    }
    int below = lower_end <= 4 * s, above = 4 * s + 4 <= upper_end;
    if (below != above) return s + (uint64_t)above;
    return s + (middle > 4 * s + 2 || (middle == 4 * s + 2 && (s & 1)));
}

/* Are a and b so near that what was cut off could change their order? */
static int is_near(uint64_t a, uint64_t b)
{
    return a - b + 16 < 32;
}

/* The digits of the shortest number that reads as x = c 2^q and is nearest to x. The number is the
 * digits times 10^*k, or with a 0 at its end. Numbers between (4 c - 2) 2^q / 4 and (4 c + 2) 2^q /
 * 4 read as x, the two ends only if c is even. If the next double below is nearer, the lower end is
 * 4 c - 1. */
static uint64_t shortest(uint64_t c, int q, int is_near_below, int *k)
{
    *k = is_near_below ? log10_of_three_quarters(q) : log10_of_power(q);
    int h = q + log2_of_power(-*k) + 1;                        /* 1 to 4 */
    pair p = power_above(-*k), x = leading_product(p, c << h); /* with 64 bits behind the point */

    /* Distance to the next ten below and above, and half a unit in the last bit, 0.5 to 5: in parts
     * of 2^60. */
    uint64_t last = x.high % 10, below = last << 60 | x.low >> 4;
    uint64_t above = ((uint64_t)10 << 60) - below, half = p.high >> (5 - h);
    uint64_t is_above = above < half;
    int is_open = is_near(below, half) | is_near(above, half) | is_near(x.low, (uint64_t)1 << 63);
    if (is_open || is_near_below) return shortest_exactly(c, p, h, is_near_below);
    /* a ten if one is near enough, else the nearest; masks, since nobody can predict this branch */
    uint64_t is_ten = -((below < half) | is_above);
    return x.high - (last & is_ten) + (is_above * 10 | (x.low >> 63 & ~is_ten));
}

/* The digits of a finite positive number, times 10^*k. */
static uint64_t digits_of(uint64_t bits, int *k)
{
    uint64_t fraction = bits & (((uint64_t)1 << FRACTION_BITS) - 1);
    int e = (int)(bits >> FRACTION_BITS), q = (e ? e : 1) - 1023 - FRACTION_BITS;
    uint64_t c = e ? fraction | (uint64_t)1 << FRACTION_BITS : fraction;
    int is_whole = q <= 0 && q > -FRACTION_BITS - 1 && !(c & (((uint64_t)1 << -q) - 1));
    *k = 0;
    return is_whole ? c >> -q : shortest(c, q, fraction == 0 && e > 1, k);
}

enum { WRITTEN_DIGITS = 17 };

/* Its digits from the first that is not 0, with zeros behind them; *exponent is that of the
 * first. */
static uint64_t normalized_digits(uint64_t bits, int *exponent)
{
    const uint64_t least = 10000000000000000; /* of 17 digits */
    int k, n = WRITTEN_DIGITS - 1;
    uint64_t digits = digits_of(bits, &k);
    for (; digits < least / 10; n--) digits *= 10; /* integers and the smallest numbers */
    unsigned is_long = digits >= least;
    *exponent = k + n - 1 + (int)is_long;
    return digits * (10 - 9 * is_long); /* a branch would be predicted wrongly half the time */
}

/* Eight digits, one a byte, the first of them the lowest: halved three times, all parts at once. In
 * each part a 10^k + b becomes a + b 2^m, which is (a 10^k + b) 2^m - a (10^k 2^m - 1). */
static uint64_t spread(uint32_t x)
{
    uint64_t fours = ((uint64_t)x << 32) - x / 10000 * (((uint64_t)10000 << 32) - 1);
    uint64_t hundreds = (fours * 10486 >> 20) & 0x7F0000007F;
    uint64_t twos = (fours << 16) - hundreds * ((100 << 16) - 1);
    uint64_t tens = (twos * 103 >> 10) & 0x000F000F000F000F;
    return (twos << 8) - tens * ((10 << 8) - 1);
}

static void put_eight(char *to, uint64_t spread_digits)
{
    uint64_t text = spread_digits | 0x3030303030303030;
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    text = __builtin_bswap64(text);
#endif
    memcpy(to, &text, 8);
}

/* All digits; returns how many there are without the zeros at the end. */
static int put_digits(char *to, uint64_t digits)
{
    enum { EIGHT = 100000000 };
    uint32_t first = (uint32_t)(digits / EIGHT), last = (uint32_t)(digits % EIGHT);
    uint64_t middle_eight = spread(first % EIGHT), last_eight = spread(last);
    to[0] = (char)('0' + first / EIGHT);
    put_eight(to + 1, middle_eight);
    put_eight(to + 9, last_eight);
    if (last_eight) return WRITTEN_DIGITS - (leading_zeros(last_eight) >> 3);
    return middle_eight ? WRITTEN_DIGITS - 8 - (leading_zeros(middle_eight) >> 3) : 1;
}

/* The digits with a point behind the first `whole`, which may be none. Up to 23 bytes are
 * written. */
static char *put_point(char *to, uint64_t digits, int whole)
{
    char *first = to + (whole > 0 ? 1 : 2 - whole);
    memcpy(to, "0.000", 5); /* at most four zeros in all */
    int n = put_digits(first, digits);
    if (whole <= 0) return first + n;
    for (int i = 0; i < whole; i++) to[i] = to[i + 1];
    if (whole >= n) return to + whole;
    to[whole] = '.';
    return to + n + 1;
}

static char *put_exponent(char *to, int exponent)
{
    uint32_t size = (uint32_t)(exponent < 0 ? -exponent : exponent);
    *to++ = 'e';
    *to++ = exponent < 0 ? '-' : '+';
    if (size >= 100) *to++ = (char)('0' + size / 100);
    *to++ = (char)('0' + size / 10 % 10);
    *to++ = (char)('0' + size % 10);
    return to;
}

int perp_number_write(double x, char *text)
{
    uint64_t bits;
    char *to = text;
    int exponent;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return (int)(stpcpy(text, "nan") - text);
    *to = '-';
    to += bits >> 63;
    bits &= ~((uint64_t)1 << 63);
    if (bits == INFINITE) return (int)(stpcpy(to, "inf") - text);
    if (bits == 0) return (int)(stpcpy(to, "0") - text);
    uint64_t digits = normalized_digits(bits, &exponent);
    if (exponent >= -4 && exponent < 17)
        to = put_point(to, digits, exponent + 1);
    else
        to = put_exponent(put_point(to, digits, 1), exponent);
    *to = 0;
    return (int)(to - text);
}

/* Text with numbers in it: the C locale for this thread, as long as it takes ------------------- */

int perp__vformat(char *text, size_t size, const char *format, va_list args)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a constant of the C library */
    locale_t before = plain ? uselocale(plain) : (locale_t)0;
    int n = vsnprintf(text, size, format, args);
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    return n;
}

int perp__format(char *text, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = perp__vformat(text, size, format, args);
    va_end(args);
    return n;
}
