/// @file schemes.h
///
/// All methods of time stepping, one row each:
///
///     ROW(X, NAME, word, simulate, plan, c, b, weighted, summary)
///
/// - simulate, plan: 1 if that command has the method.
/// - c: the points of a step as fractions of it. The last is its end.
/// - b: their weights in an integral over the step.
/// - weighted: 1 if equations with a derivative are weighted between start and end, by theta.
///
/// Derivatives at the points are those of the polynomial through the start and the points. The list
/// generates the enums, the look-ups by name, and the table of every engine (src/model/scheme.h).

#ifndef PERP_SCHEMES_H
#define PERP_SCHEMES_H

#define PERP_SQRT6 2.449489742783178

#define PERP_SCHEME_LIST(ROW, X)                                                                   \
    ROW(X, BACKWARD_EULER, "backward-euler", 1, 1, (1), (1), 0,                                    \
        "everything at the end of the step; order 1, damps")                                       \
    ROW(X, THETA, "theta", 1, 1, (1), (1), 1,                                                      \
        "equations of motion weighted by theta; order 2 at 1/2 where no rate reads a var")         \
    ROW(X, MOREAU, "moreau", 1, 0, (1), (1), 1,                                                    \
        "theta; the name for laws of impact at velocity level under a guard")                      \
    ROW(X, RADAU3, "radau3", 1, 1, (1.0 / 3, 1), (0.75, 0.25), 0,                                  \
        "Radau IIA of two points; order 3 where the motion is smooth")                             \
    ROW(X, RADAU5, "radau5", 1, 1, ((4 - PERP_SQRT6) / 10, (4 + PERP_SQRT6) / 10, 1),              \
        ((16 - PERP_SQRT6) / 36, (16 + PERP_SQRT6) / 36, 1.0 / 9), 0,                              \
        "Radau IIA of three points; order 5 where the motion is smooth")                           \
    ROW(X, RADAU7, "radau7", 1, 1,                                                                 \
        (0.088587959512703947, 0.40946686444073471, 0.78765946176084706, 1),                       \
        (0.22046221117676838, 0.38819346884317188, 0.32884431998005974, 0.0625), 0,                \
        "Radau IIA of four points; order 7 where the motion is smooth")

/// The methods of one command, as X(name, word, weighted, summary).
#define PERP_INTEGRATOR_LIST(X)  PERP_SCHEME_LIST(PERP_SCHEME_OF_SIMULATE, X)
#define PERP_PLAN_METHOD_LIST(X) PERP_SCHEME_LIST(PERP_SCHEME_OF_PLAN, X)

#define PERP_SCHEME_OF_SIMULATE(X, NAME, word, simulate, plan, c, b, weighted, summary)            \
    PERP_SCHEME_IF_##simulate(X(PERP_##NAME, word, weighted, summary))
#define PERP_SCHEME_OF_PLAN(X, NAME, word, simulate, plan, c, b, weighted, summary)                \
    PERP_SCHEME_IF_##plan(X(PERP_PLAN_##NAME, word, weighted, summary))
#define PERP_SCHEME_IF_1(...) __VA_ARGS__
#define PERP_SCHEME_IF_0(...)

#endif
