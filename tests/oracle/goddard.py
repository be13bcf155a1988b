"""The greatest height of Goddard's rocket with the constants of Betts' book, by Taylor series in 34 digits: full thrust until the singular arc,
on it by the thrust that stays there, coasting from the last fuel on. The costates, backwards from the top, show that this is an extremal.
18550.873, which is found in places, is the height with c = 1580.942579 for 1580.9425279876559.

usage: goddard.py      prints what it finds; exits 1 where a switching function has the wrong value or sign
"""

import sys
from decimal import Decimal as D, getcontext

getcontext().prec = 34
ZERO = D("1e-25")
ORDER, STEP = 20, D("0.5")
G, H0, C, SIGMA, FULL, LAST = D("32.174"), D(23800), D("1580.9425279876559"), D("5.4915348492338101e-5"), D("193.044"), D(1)
BOOK = {"height": D("18550.872"), "full until": D("13.751270"), "arc until": D("21.987363"), "top": D("42.887912")}


class Series:
    """A truncated power series; what is asked of it grows with what it is made of."""

    def __init__(self, c):
        self.c = c

    def __add__(self, o):
        return Series([a + b for a, b in zip(self.c, o.c)]) if isinstance(o, Series) else Series([self.c[0] + o] + self.c[1:])

    def __neg__(self):
        return Series([-a for a in self.c])

    def __sub__(self, o):
        return self + (-o)

    def __mul__(self, o):
        if not isinstance(o, Series):
            return Series([a * o for a in self.c])
        return Series([sum(self.c[i] * o.c[k - i] for i in range(k + 1)) for k in range(min(len(self.c), len(o.c)))])

    def __truediv__(self, o):
        if not isinstance(o, Series):
            return Series([a / o for a in self.c])
        q = []
        for k in range(min(len(self.c), len(o.c))):
            q.append((self.c[k] - sum(q[i] * o.c[k - i] for i in range(k))) / o.c[0])
        return Series(q)

    def exp(self):
        e = [self.c[0].exp()]
        for k in range(1, len(self.c)):
            e.append(sum(i * self.c[i] * e[k - i] for i in range(1, k + 1)) / k)
        return Series(e)


def air(h):
    """Drag is this times v^2."""
    return (-h / H0).exp() * SIGMA


def off_arc(h, v, m):
    """0 on the singular arc: m g - (1 + v/c) drag."""
    return m * G - (v / C + D(1)) * v * v * air(h)


def thrust_on_arc(h, v, m):
    """The thrust F along which off_arc stays 0: its derivative is a + b F."""
    by_v = -(v / C * D(3) + D(2)) * v * air(h)
    a = by_v * (-(v * v * air(h)) / m + -G) + (v / C + D(1)) * v * v * v * air(h) / H0
    b = by_v / m + -G / C
    return -a / b


def slopes(x, thrust):
    """Of height, speed, mass, and their costates where there are any."""
    h, v, m = x[:3]
    d, F = v * v * air(h), v * D(0) + D(0) + thrust(h, v, m)
    rate = (F - d) / m
    motion = [v, rate + -G, -F / C]
    if len(x) == 3:
        return motion
    share = x[4] / m
    return motion + [-(share * d) / H0, share * v * air(h) * D(2) - x[3], share * rate]


def expand(x, thrust):
    """The Taylor series of the motion through x."""
    series = [Series([a]) for a in x]
    for k in range(ORDER):
        for s, f in zip(series, slopes(series, thrust)):
            s.c.append(f.c[k] / (k + 1))
    return series


def at(series, t):
    out = []
    for s in series:
        a = D(0)
        for c in reversed(s.c):
            a = a * t + c
        out.append(a)
    return out


def until(x, thrust, zero, t=D(0)):
    """On to where zero(x) changes its sign, which Newton's and the secant's steps find to the last digits."""
    began = zero(x) > 0
    while True:
        series = expand(x, thrust)
        end = at(series, STEP)
        if (zero(end) > 0) != began:
            break
        x, t = end, t + STEP
    a, b = D(0), STEP
    fa, fb = zero(x), zero(end)
    for _ in range(60):
        s = b - fb * (b - a) / (fb - fa)
        a, fa, b = b, fb, s
        fb = zero(at(series, b))
        if abs(b - a) < D("1e-30") or fb == fa:
            break
    return at(series, b), t + b


def back(x, thrust, t, to, look):
    """Backwards in time, looking at each step."""
    while t > to:
        step = min(STEP, t - to)
        look(x)
        x, t = at(expand(x, thrust), -step), t - step
    look(x)
    return x


def switching(x):
    """What the Hamiltonian gains by thrust."""
    h, v, m, ph, pv, pm = x
    return pv / m - pm / C


def of_point(f, x):
    return f(*[Series([a]) for a in x[:3]]).c[0]


def find_motion():
    """The states where thrust changes and at the top, each with its time."""
    x1, t1 = until([D(0), D(0), D(3)], lambda h, v, m: FULL, lambda x: of_point(off_arc, x))
    x2, t2 = until(x1, thrust_on_arc, lambda x: x[2] - LAST, t1)
    return (x1, t1), (x2, t2), until(x2, lambda h, v, m: D(0), lambda x: x[1], t2)


def find_switching(ends):
    """The switching function by arc, where it is 0 at the end of the singular one. At the top the costates are 1, 0 and one that says that."""
    (x1, t1), (x2, t2), (x3, t3) = ends
    seen = {"full": [], "arc": [], "coast": []}

    def go(x, thrust, t, to, name):
        return back(x, thrust, t, to, lambda x: seen[name].append(switching(x)))

    def coast(pm):
        return go(x3 + [D(1), D(0), pm], lambda h, v, m: D(0), t3, t2, "coast")

    s = switching(coast(D(0)))
    seen["coast"].clear()
    x = coast(s * C)  # along the coast a costate of mass adds -pm/c
    x = go(x2 + x[3:], thrust_on_arc, t2, t1, "arc")
    go(x1 + x[3:], lambda h, v, m: FULL, t1, D(0), "full")
    return seen


def main():
    ends = find_motion()
    (x1, t1), (x2, t2), (x3, t3) = ends
    seen = find_switching(ends)
    least, most = of_point(thrust_on_arc, x2), of_point(thrust_on_arc, x1)
    worst = max(abs(s) for s in seen["arc"])
    print(f"height {x3[0]:.14f} ft; full thrust until {t1:.12f} s, on the arc until {t2:.12f} s, at the top after {t3:.12f} s")
    print(f"switching function: from {min(seen['full']):.1e} to {max(seen['full']):.3g} with full thrust, at most {worst:.1e} on the arc, "
          f"from {min(seen['coast']):.3g} to {max(seen['coast']):.1e} coasting; thrust on the arc {most:.6g} to {least:.6g}")
    holds = worst < ZERO and min(seen["full"]) > -ZERO and max(seen["coast"]) < ZERO and 0 < least < FULL and 0 < most < FULL
    global C
    C = D("1580.942579")
    other = find_motion()[2][0][0]
    print(f"with c = {C} the height is {other:.9f}")
    found = {"height": x3[0], "full until": t1, "arc until": t2, "top": t3}
    for name, book in BOOK.items():
        agrees = abs(found[name] - book) <= D(1).scaleb(book.as_tuple().exponent) / 2
        holds = holds and agrees
        print(f"{name}: {found[name]:.9f}, published {book}{'' if agrees else ': not the same'}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
