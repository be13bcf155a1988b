/* Problems in JSON under arbitrary bytes: what a reader accepts is classified and solved, and what is called solved is. With
 * libFuzzer (make fuzz FUZZ=json) coverage guides it; built plainly, the same file replays the files it is given. */

#include "cpu_limit.h"
#include "problem_fc.h"
#include "problem_lcp.h"

#include "perp/mcp.h"
#include "perp/model.h"

#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 12 };

static void require(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "not true: %s\n", what);
    abort();
}

#define REQUIRE(condition) require(condition, #condition)

static void linear(const cJSON *json, perp_diag *diag)
{
    problem_lcp p;
    perp_lcp_solver *solver;
    perp_lcp_info info = {.size = sizeof info};
    perp_lcp_class class = {.size = sizeof class};
    double z[MOST] = {0}, w[MOST] = {0};
    if (problem_lcp_from_json(json, "fuzz.json", &p, diag) == PERP_OK && p.view.n <= MOST) {
        perp_lcp_options o = perp_lcp_options_default(PERP_LCP_AUTO);
        o.mixed = p.view.lo != NULL;
        perp_lcp_classify(&p.view, &class);
        if (perp_lcp_solver_create(PERP_LCP_AUTO, p.view.n, &o, &solver) == PERP_OK) {
            perp_lcp_solve(solver, &p.view, z, w, &info);
            for (int i = 0; i < p.view.n && info.outcome == PERP_SOLVED; i++)
                REQUIRE(z[i] - z[i] == 0 && w[i] - w[i] == 0);
            perp_lcp_solver_destroy(solver);
        }
    }
    problem_lcp_clear(&p);
}

static void friction(const cJSON *json, perp_diag *diag)
{
    problem_fc p = {0};
    perp_fc_solver *solver;
    perp_fc_info info = {.size = sizeof info};
    double r[3 * MOST] = {0}, u[3 * MOST] = {0};
    if (problem_fc_from_json(json, "fuzz.json", &p, diag) != PERP_OK) return;
    perp_fc_options o = perp_fc_options_default();
    o.max_iter = 200;
    if (p.view.nc <= MOST && perp_fc_solver_create(PERP_FC_AUTO, &p.view, &o, &solver) == PERP_OK) {
        perp_fc_solve(solver, &p.view, r, u, &info);
        for (int i = 0; i < p.view.nc * p.view.dimension && info.outcome == PERP_SOLVED; i++)
            REQUIRE(r[i] - r[i] == 0 && u[i] - u[i] == 0);
        perp_fc_solver_destroy(solver);
    }
    problem_fc_clear(&p);
}

static void formulas(const cJSON *json, perp_diag *diag)
{
    const cJSON *F = cJSON_GetObjectItem(json, "F"), *item;
    const char *text[MOST];
    double z[MOST] = {0}, w[MOST];
    int n = 0;
    perp_formulas *made = NULL;
    cJSON_ArrayForEach(item, F)
    {
        if (n == MOST || !cJSON_IsString(item)) return;
        text[n++] = item->valuestring;
    }
    if (n == 0 || perp_formulas_create(n, text, "fuzz.json", &made, diag) != PERP_OK) return;
    perp_mcp p = perp_formulas_mcp(made);
    perp_mcp_residual(&p, z, w);
    perp_formulas_destroy(made);
}

static void problem(const cJSON *json)
{
    perp_diag diag = {0};
    if (cJSON_IsObject(json)) {
        linear(json, &diag);
        friction(json, &diag);
        formulas(json, &diag);
    }
    perp_diag_clear(&diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limit_cpu();
    char *text = malloc(size + 1);
    REQUIRE(text != NULL);
    if (size) memcpy(text, data, size);
    text[size] = 0;
    cJSON *json = cJSON_ParseWithOpts(text, NULL, 1), *item;
    problem(json);
    if (cJSON_IsArray(json)) cJSON_ArrayForEach(item, json) problem(item);
    cJSON_Delete(json);
    free(text);
    return 0;
}

#include "replay.h"
