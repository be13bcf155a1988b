/// perp/plan.h - optimal control through stick, slip and impact: the model's conditions, pairs
/// included, are constraints of an optimisation over all nodes of a horizon at once,
///
///     minimise  sum of costs,   F(x_k-1, y_k) = 0,   0 <= a_i(y_k) perp b_i(y_k) >= 0,
///               bounds and conditions at nodes,      y_k = (states, vars, inputs) at node k.
///
/// The study is stated in the model's plan block (docs/plan.md). Pairs are relaxed to a b <= eps and
/// eps is driven down; in the end the sides seen are fixed and the answer is refined on them. An
/// answer is called optimal only when the conditions as written hold, checked by code that belongs
/// to no solver. Typical use: options from the model, create, solve, read rows, destroy.

#ifndef PERP_PLAN_H
#define PERP_PLAN_H

#include "perp/base.h"
#include "perp/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How a step is discretised: everything at the step's end, or at the points of Radau IIA.
#define PERP_PLAN_METHOD_LIST(X)                                                                   \
    X(PERP_PLAN_BACKWARD_EULER, "backward-euler", "everything at the end of the step; order 1")    \
    X(PERP_PLAN_RADAU3, "radau3", "Radau IIA of two points; order 3 where the motion is smooth")   \
    X(PERP_PLAN_RADAU5, "radau5", "Radau IIA of three points; order 5 where the motion is smooth")

typedef enum perp_plan_method {
#define PERP_PLAN_METHOD_ENUM(name, word, text) name,
    PERP_PLAN_METHOD_LIST(PERP_PLAN_METHOD_ENUM)
#undef PERP_PLAN_METHOD_ENUM
        PERP_PLAN_METHOD_COUNT
} perp_plan_method;

/// How a pair 0 <= a perp b >= 0 enters the program.
#define PERP_PLAN_PAIRS_LIST(X)                                                                    \
    X(PERP_PLAN_SCHOLTES, "scholtes", "a, b >= 0 and a b <= eps, eps driven down")                 \
    X(PERP_PLAN_PRODUCTS, "products", "a, b >= 0 and a b <= 0 from the start")                     \
    X(PERP_PLAN_L1, "l1", "a, b >= 0 and a penalty on the sum of a b")                             \
    X(PERP_PLAN_FISCHER_BURMEISTER, "fischer-burmeister",                                          \
      "a + b = sqrt(a^2 + b^2 + 2 eps), eps driven down")

typedef enum perp_plan_pairs {
#define PERP_PLAN_PAIRS_ENUM(name, word, text) name,
    PERP_PLAN_PAIRS_LIST(PERP_PLAN_PAIRS_ENUM)
#undef PERP_PLAN_PAIRS_ENUM
        PERP_PLAN_PAIRS_COUNT
} perp_plan_pairs;

/// What solves the program.
#define PERP_PLAN_BACKEND_LIST(X)                                                                  \
    X(PERP_PLAN_OWN, "own", "interior point by stages; time grows linearly with the nodes")        \
    X(PERP_PLAN_IPOPT, "ipopt", "IPOPT with exact derivatives, when this build has it")

typedef enum perp_plan_backend {
#define PERP_PLAN_BACKEND_ENUM(name, word, text) name,
    PERP_PLAN_BACKEND_LIST(PERP_PLAN_BACKEND_ENUM)
#undef PERP_PLAN_BACKEND_ENUM
        PERP_PLAN_BACKEND_COUNT
} perp_plan_backend;

/// Words such as "backward-euler"; NULL outside the enum. The find functions give the COUNT for an
/// unknown word.
PERP_API const char *perp_plan_method_name(perp_plan_method method);
PERP_API perp_plan_method perp_plan_method_find(const char *name);
PERP_API const char *perp_plan_pairs_name(perp_plan_pairs pairs);
PERP_API perp_plan_pairs perp_plan_pairs_find(const char *name);
PERP_API const char *perp_plan_backend_name(perp_plan_backend backend);
PERP_API perp_plan_backend perp_plan_backend_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
