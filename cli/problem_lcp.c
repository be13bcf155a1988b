/* Linear problems from JSON, and what all readers of problems share. */

#include "problem_lcp.h"

#include "base/base.h"
#include "base/input.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 30 };

/* cJSON does not say why it made nothing of a text, nor that an item could not be made. */
static int json_failed;

static void *json_malloc(size_t size)
{
    void *memory = malloc(size);
    if (!memory) json_failed = 1;
    return memory;
}

void problem_json_watch(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = json_malloc, .free_fn = free});
}

int problem_json_failed(void)
{
    return json_failed;
}

/* After a failure: where the text is no JSON. */
static perp_status not_json(const char *path, const char *text, const char *end, perp_diag *diag)
{
    perp__place place = {path, 1, 1};
    for (const char *c = text; c < end; c++) {
        if (*c == '\n') {
            place.line++;
            place.column = 1;
        } else
            place.column++;
    }
    return perp__refuse(diag, PERP_ERR_DATA, place, "this is not JSON\n");
}

/* The text of a file with a zero behind it, or NULL after saying what is wrong. */
static char *read_text(const char *path, perp_status *status, perp_diag *diag)
{
    char *text;
    size_t length;
    perp__place place = perp__in(path);
    const char *why;
    *status = perp__input_read(path, PERP__STREAM, MOST_BYTES, 1, &text, &length, &why);
    if (*status == PERP_ERR_FILE || *status == PERP_ERR_DATA)
        perp__refuse(diag, *status, place, "%s\n", why);
    else if (*status == PERP_OK && length && memchr(text, 0, length))
        *status = perp__refuse(diag, PERP_ERR_DATA, place, "not a text file: it has a zero byte\n");
    else if (*status == PERP_ERR_MEMORY)
        perp__out_of_memory(diag, path);
    if (*status == PERP_OK) return text;
    free(text);
    return NULL;
}

void *problem_json_load(const char *path, perp_status *status, perp_diag *diag)
{
    problem_json_watch();
    char *text = read_text(path, status, diag);
    if (!text) return NULL;
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithOpts(text, &end, 1);
    if (!json)
        *status = json_failed ? perp__out_of_memory(diag, path) : not_json(path, text, end, diag);
    free(text);
    if (!cJSON_IsArray(json) || cJSON_GetArraySize(json) > 0) return json;
    *status = perp__refuse(diag, PERP_ERR_DATA, perp__in(path), "the list has no problem in it\n");
    cJSON_Delete(json);
    return NULL;
}

void problem_json_free(void *json)
{
    cJSON_Delete(json);
}

void problem_name(const void *json, char *name, size_t size)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(json, "name"));
    snprintf(name, size, "%s", text ? text : "");
    for (; *name; name++) {
        if ((unsigned char)*name < 32 || *name == 127) *name = '?';
    }
}

/* n finite numbers; `key` names the array in messages. */
static perp_status read_vector(const cJSON *array, const char *key, int n, double *out, int stride,
                               perp__place place, perp_diag *diag)
{
    int k = 0;
    const cJSON *item;
    if (!cJSON_IsArray(array))
        return perp__refuse(diag, PERP_ERR_DATA, place, "\"%s\" must be a list of numbers\n", key);
    if (cJSON_GetArraySize(array) != n)
        return perp__refuse(diag, PERP_ERR_DATA, place, "\"%s\" has %d entries; \"q\" has %d\n",
                            key, cJSON_GetArraySize(array), n);
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
            return perp__refuse(diag, PERP_ERR_DATA, place, "\"%s\"[%d] is not a %s\n", key, k,
                                cJSON_IsNumber(item) ? "finite number" : "number");
        out[k++ * stride] = item->valuedouble;
    }
    return PERP_OK;
}

/* A list of bounds, null for an infinite one. */
static perp_status read_bound(const void *json, const char *key, double infinite, int n,
                              double *bound, perp__place place, perp_diag *diag)
{
    const cJSON *list = cJSON_GetObjectItem(json, key), *item;
    int k = 0;
    if (!list) return PERP_OK;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != n)
        return perp__refuse(diag, PERP_ERR_DATA, place,
                            "\"%s\" must be a list of %d numbers or nulls\n", key, n);
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsNull(item) && !(cJSON_IsNumber(item) && isfinite(item->valuedouble)))
            return perp__refuse(diag, PERP_ERR_DATA, place,
                                "\"%s\"[%d] is neither a finite number nor null\n", key, k);
        bound[k++] = cJSON_IsNull(item) ? infinite : item->valuedouble;
    }
    return PERP_OK;
}

perp_status problem_bounds(const void *json, int n, double *lo, double *hi, const char *where,
                           perp_diag *diag)
{
    perp__place place = perp__in(where);
    perp_status status = read_bound(json, "lower", -(double)INFINITY, n, lo, place, diag);
    if (status == PERP_OK) status = read_bound(json, "upper", (double)INFINITY, n, hi, place, diag);
    for (int i = 0; i < n && status == PERP_OK; i++) {
        if (!(lo[i] <= hi[i]))
            status = perp__refuse(diag, PERP_ERR_DATA, place,
                                  "the lower bound of z[%d] is above the upper one\n", i);
    }
    return status;
}

static perp_status read_bounds(const cJSON *p, const char *where, problem_lcp *out, perp_diag *diag)
{
    int n = out->view.n;
    size_t N = (size_t)n;
    double *lo = out->numbers + N * N + N, *hi = lo + N;
    for (int i = 0; i < n; i++) {
        lo[i] = out->is_free[i] ? -(double)INFINITY : 0;
        hi[i] = (double)INFINITY;
    }
    perp_status status = problem_bounds(p, n, lo, hi, where, diag);
    for (int i = 0; i < n && status == PERP_OK; i++) {
        int is_free = isinf(lo[i]) && isinf(hi[i]);
        out->nfree += is_free && !out->is_free[i];
        out->nbounded += !is_free && (lo[i] != 0 || !isinf(hi[i]));
        out->is_free[i] = (unsigned char)is_free;
    }
    if (out->nfree + out->nbounded > 0) {
        out->view.lo = lo;
        out->view.hi = hi;
    }
    return status;
}

perp_status problem_lcp_from_json(const void *json, const char *file, problem_lcp *out,
                                  perp_diag *diag)
{
    const cJSON *p = json, *M = cJSON_GetObjectItem(p, "M"), *q = cJSON_GetObjectItem(p, "q"),
                *free_indices = cJSON_GetObjectItem(p, "free"), *item;
    memset(out, 0, sizeof *out);
    problem_name(p, out->name, sizeof out->name);
    char where[512];
    snprintf(where, sizeof where, "%s%s%s", file, out->name[0] ? ": " : "", out->name);
    perp__place place = perp__in(where);
    if (!cJSON_IsArray(q) || !cJSON_IsArray(M))
        return perp__refuse(diag, PERP_ERR_DATA, place,
                            "expected \"M\" (a list of rows) and \"q\" (a list)\n");
    if (free_indices && !cJSON_IsArray(free_indices))
        return perp__refuse(diag, PERP_ERR_DATA, place, "\"free\" must be a list of indices\n");
    int n = cJSON_GetArraySize(q), i = 0;
    size_t N = (size_t)n;
    const cJSON *count = cJSON_GetObjectItem(p, "n");
    if (count && !(cJSON_IsNumber(count) && count->valuedouble == n))
        return perp__refuse(diag, PERP_ERR_DATA, place,
                            "\"n\" is not the number of entries of \"q\"\n");
    if (cJSON_GetArraySize(M) != n) /* before room is made for n x n numbers */
        return perp__refuse(diag, PERP_ERR_DATA, place,
                            "\"M\" must have as many rows and columns as \"q\" has entries\n");
    out->numbers = malloc((N * N + 3 * N + 1) * sizeof(double));
    out->is_free = calloc(N + 1, 1);
    if (!out->numbers || !out->is_free) return perp__out_of_memory(diag, where);
    perp_status status = read_vector(q, "q", n, out->numbers + N * N, 1, place, diag);
    cJSON_ArrayForEach(item, M)
    {
        char key[32];
        snprintf(key, sizeof key, "M[%d]", i);
        if (status == PERP_OK) status = read_vector(item, key, n, out->numbers + i, n, place, diag);
        i++;
    }
    if (status != PERP_OK) return status;
    cJSON_ArrayForEach(item, free_indices)
    {
        double k = cJSON_IsNumber(item) ? item->valuedouble : -1;
        if (k != floor(k) || k < 0 || k >= n)
            return perp__refuse(diag, PERP_ERR_DATA, place,
                                "\"free\" must list indices from 0 to n - 1\n");
        out->nfree += !out->is_free[(int)k];
        out->is_free[(int)k] = 1;
    }
    out->view = (perp_lcp){n, out->numbers, n > 1 ? n : 1, out->numbers + N * N, NULL, NULL};
    return read_bounds(p, where, out, diag);
}

void problem_lcp_clear(problem_lcp *problem)
{
    free(problem->numbers);
    free(problem->is_free);
    memset(problem, 0, sizeof *problem);
}
