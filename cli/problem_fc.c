/* Friction problems from JSON: sizes are checked before anything is read. */

#include "problem_fc.h"
#include "problem_lcp.h"

#include "base/base.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `count` finite numbers of an array. */
static perp_status read_numbers(const cJSON *array, const char *key, int count, double *out,
                                const char *where, perp_diag *diag)
{
    if (!cJSON_IsArray(array))
        return perp__refuse(diag, PERP_ERR_DATA, perp__in(where),
                            "\"%s\" must be an array of %d numbers\n", key, count);
    int k = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsNumber(item))
            return perp__refuse(diag, PERP_ERR_DATA, perp__in(where),
                                "\"%s\"[%d] is not a number\n", key, k);
        if (!isfinite(item->valuedouble))
            return perp__refuse(diag, PERP_ERR_DATA, perp__in(where),
                                "\"%s\"[%d] is not a finite number\n", key, k);
        if (k < count) out[k] = item->valuedouble;
        k++;
    }
    if (k != count)
        return perp__refuse(diag, PERP_ERR_DATA, perp__in(where),
                            "\"%s\" has %d entries where %d are needed\n", key, k, count);
    return PERP_OK;
}

static perp_status read_blocks(const cJSON *blocks, problem_fc *out, const char *where,
                               perp_diag *diag)
{
    int d = out->view.dimension, nb = cJSON_GetArraySize(blocks), k = 0;
    double *block = out->numbers + out->view.nc * (d + 1);
    int *row = out->places, *col = out->places + nb;
    const cJSON *item;
    cJSON_ArrayForEach(item, blocks)
    {
        double values[11];
        char key[40];
        snprintf(key, sizeof key, "blocks[%d]", k);
        perp_status status = read_numbers(item, key, 2 + d * d, values, where, diag);
        if (status != PERP_OK) return status;
        for (int e = 0; e < 2; e++)
            if (!(values[e] >= 0 && values[e] < out->view.nc && values[e] == floor(values[e])))
                return perp__refuse(diag, PERP_ERR_DATA, perp__in(where),
                                    "blocks[%d]: %g is not a contact from 0 to %d\n", k, values[e],
                                    out->view.nc - 1);
        row[k] = (int)values[0];
        col[k] = (int)values[1];
        memcpy(block + (size_t)k * (size_t)(d * d), values + 2, (size_t)(d * d) * sizeof(double));
        k++;
    }
    out->view.block = block;
    out->view.row = row;
    out->view.col = col;
    out->view.nb = nb;
    return PERP_OK;
}

static perp_status read_dense(const cJSON *rows, problem_fc *out, const char *where,
                              perp_diag *diag)
{
    int n = out->view.dimension * out->view.nc, i = 0;
    double *W = out->numbers + out->view.nc * (out->view.dimension + 1),
           *line = W + (size_t)n * (size_t)n;
    if (cJSON_GetArraySize(rows) != n)
        return perp__refuse(diag, PERP_ERR_DATA, perp__in(where),
                            "\"W\" has %d rows where %d are needed\n", cJSON_GetArraySize(rows), n);
    const cJSON *item;
    cJSON_ArrayForEach(item, rows)
    {
        char key[40];
        snprintf(key, sizeof key, "W[%d]", i);
        perp_status status = read_numbers(item, key, n, line, where, diag);
        if (status != PERP_OK) return status;
        for (int j = 0; j < n; j++) (W + (size_t)j * (size_t)n)[i] = line[j];
        i++;
    }
    out->view.W = W;
    out->view.ldw = n > 0 ? n : 1;
    return PERP_OK;
}

/* The kind and the sizes, each checked, into view.dimension and view.nc. */
static perp_status read_sizes(const cJSON *object, problem_fc *out, perp__place place,
                              perp_diag *diag)
{
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(object, "kind");
    const cJSON *dimension = cJSON_GetObjectItemCaseSensitive(object, "dimension");
    const cJSON *contacts = cJSON_GetObjectItemCaseSensitive(object, "contacts");
    const cJSON *W = cJSON_GetObjectItemCaseSensitive(object, "W");
    int has_blocks = cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(object, "blocks"));
    if (!cJSON_IsString(kind) || strcmp(kind->valuestring, "fc") != 0)
        return perp__refuse(diag, PERP_ERR_DATA, place,
                            "\"kind\" must be \"fc\" for a friction problem\n");
    if (!cJSON_IsNumber(dimension) || (dimension->valuedouble != 2 && dimension->valuedouble != 3))
        return perp__refuse(diag, PERP_ERR_DATA, place, "\"dimension\" must be 2 or 3\n");
    if (!cJSON_IsNumber(contacts) ||
        !(contacts->valuedouble >= 0 && contacts->valuedouble <= 1e7) ||
        contacts->valuedouble != floor(contacts->valuedouble))
        return perp__refuse(diag, PERP_ERR_DATA, place, "\"contacts\" must be a count\n");
    if (!has_blocks && !cJSON_IsArray(W))
        return perp__refuse(diag, PERP_ERR_DATA, place, "needs \"blocks\" (or a dense \"W\")\n");
    if (has_blocks && W)
        return perp__refuse(diag, PERP_ERR_DATA, place,
                            "\"W\" and \"blocks\" say the same thing; give one of them\n");
    out->view.dimension = dimension->valueint;
    out->view.nc = contacts->valueint;
    int rows = out->view.dimension * out->view.nc;
    if (!has_blocks && cJSON_GetArraySize(W) != rows)
        return perp__refuse(diag, PERP_ERR_DATA, place, "\"W\" has %d rows where %d are needed\n",
                            cJSON_GetArraySize(W), rows);
    return PERP_OK;
}

perp_status problem_fc_from_json(const void *json, const char *where, problem_fc *out,
                                 perp_diag *diag)
{
    const cJSON *object = json;
    perp__place place = perp__in(where);
    memset(out, 0, sizeof *out);
    if (!cJSON_IsObject(object))
        return perp__refuse(diag, PERP_ERR_DATA, place, "a problem must be an object\n");
    problem_name(object, out->name, sizeof out->name);
    perp_status status = read_sizes(object, out, place, diag);
    if (status != PERP_OK) return status;
    const cJSON *blocks = cJSON_GetObjectItemCaseSensitive(object, "blocks");
    const cJSON *W = cJSON_GetObjectItemCaseSensitive(object, "W");
    int d = out->view.dimension, nc = out->view.nc,
        nb = cJSON_IsArray(blocks) ? cJSON_GetArraySize(blocks) : 0;
    size_t n = (size_t)(d * nc),
           matrix = cJSON_IsArray(blocks) ? (size_t)nb * (size_t)(d * d) : n * (n + 1);
    out->numbers = calloc(n + (size_t)nc + matrix + 1, sizeof(double));
    out->places = calloc(2 * (size_t)nb + 1, sizeof(int));
    status = out->numbers && out->places ? PERP_OK : PERP_ERR_MEMORY;
    if (status == PERP_OK)
        status = read_numbers(cJSON_GetObjectItemCaseSensitive(object, "q"), "q", d * nc,
                              out->numbers, where, diag);
    if (status == PERP_OK)
        status = read_numbers(cJSON_GetObjectItemCaseSensitive(object, "mu"), "mu", nc,
                              out->numbers + n, where, diag);
    if (status == PERP_OK)
        status = cJSON_IsArray(blocks) ? read_blocks(blocks, out, where, diag)
                                       : read_dense(W, out, where, diag);
    out->view.q = out->numbers;
    out->view.mu = out->numbers ? out->numbers + n : NULL;
    for (int i = 0; status == PERP_OK && i < nc; i++) {
        if (out->view.mu[i] < 0)
            status =
                perp__refuse(diag, PERP_ERR_DATA, place,
                             "\"mu\"[%d] is %g; it must not be negative\n", i, out->view.mu[i]);
    }
    if (status != PERP_OK) problem_fc_clear(out);
    return status;
}

perp_status problem_fc_load(const char *path, problem_fc *out, perp_diag *diag)
{
    perp_status status;
    memset(out, 0, sizeof *out);
    void *json = problem_json_load(path, &status, diag);
    if (status == PERP_OK) status = problem_fc_from_json(json, path, out, diag);
    problem_json_free(json);
    return status;
}

void problem_fc_clear(problem_fc *problem)
{
    if (!problem) return;
    free(problem->numbers);
    free(problem->places);
    memset(problem, 0, sizeof *problem);
}
