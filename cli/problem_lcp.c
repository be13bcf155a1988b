#include "problem_lcp.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 30 };

/* Append "where: message". */
static perp_status complain(perp_diag *diag, const char *where, const char *what, const char *name)
{
    char text[1024];
    int n = snprintf(text, sizeof text, "%s: %s%s%s\n", where, name && name[0] ? name : "",
                     name && name[0] ? ": " : "", what);
    if (!diag || n < 0) return PERP_ERR_DATA;
    diag->errors++;
    char *grown = realloc(diag->text, diag->length + (size_t)n + 1);
    if (!grown) return PERP_ERR_DATA;
    memcpy(grown + diag->length, text, strlen(text) + 1);
    diag->text = grown;
    diag->length += strlen(text);
    diag->capacity = diag->length + 1;
    return PERP_ERR_DATA;
}

/* cJSON does not say why it made nothing of a text, nor that an item could not be made. */
static int json_failed;

static void *json_malloc(size_t size)
{
    void *memory = malloc(size);
    if (!memory) json_failed = 1;
    return memory;
}

int problem_json_failed(void)
{
    return json_failed;
}

void *problem_json_load(const char *path, perp_status *status, perp_diag *diag)
{
    cJSON_Hooks hooks = {.malloc_fn = json_malloc, .free_fn = free};
    cJSON_InitHooks(&hooks);
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t length = 0, capacity = 0;
    *status = PERP_ERR_FILE;
    while (file && !feof(file) && !ferror(file)) {
        if (length > MOST_BYTES || (length && memchr(text, 0, length < 4096 ? length : 4096))) {
            complain(diag, path,
                     length > MOST_BYTES ? "more than 1 GB; this is no problem file"
                                         : "not a text file: it has a zero byte",
                     NULL);
            *status = PERP_ERR_DATA;
            fclose(file);
            free(text);
            return NULL;
        }
        if (length + 1 >= capacity) {
            capacity = capacity ? 2 * capacity : 1 << 16;
            char *more = realloc(text, capacity);
            if (!more) {
                complain(diag, path, "out of memory", NULL);
                *status = PERP_ERR_MEMORY;
                fclose(file);
                free(text);
                return NULL;
            }
            text = more;
        }
        length += fread(text + length, 1, capacity - length - 1, file);
    }
    if (!file || ferror(file) || !text) {
        complain(diag, path, errno ? strerror(errno) : "cannot be read", NULL);
        if (file) fclose(file);
        free(text);
        return NULL;
    }
    fclose(file);
    text[length] = 0;
    if (memchr(text, 0, length)) {
        complain(diag, path, "not a text file: it has a zero byte", NULL);
        *status = PERP_ERR_DATA;
        free(text);
        return NULL;
    }
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithOpts(text, &end, 1);
    if (cJSON_IsArray(json) && cJSON_GetArraySize(json) == 0) {
        complain(diag, path, "the list has no problem in it", NULL);
        *status = PERP_ERR_DATA;
        cJSON_Delete(json);
        free(text);
        return NULL;
    }
    if (!json && json_failed) {
        complain(diag, path, "out of memory", NULL);
        *status = PERP_ERR_MEMORY;
    } else if (!json) {
        int line = 1, column = 1;
        char message[128];
        for (const char *c = text; c < end; c++) {
            if (*c == '\n')
                line++, column = 1;
            else
                column++;
        }
        snprintf(message, sizeof message, "%d:%d: this is not JSON", line, column);
        complain(diag, path, message, NULL);
        *status = PERP_ERR_DATA;
    } else {
        *status = PERP_OK;
    }
    free(text);
    return json;
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
                               const char *where, const char *name, perp_diag *diag)
{
    char what[128] = "";
    int k = 0;
    const cJSON *item;
    if (!cJSON_IsArray(array))
        snprintf(what, sizeof what, "\"%s\" must be a list of numbers", key);
    else if (cJSON_GetArraySize(array) != n)
        snprintf(what, sizeof what, "\"%s\" has %d entries; \"q\" has %d", key,
                 cJSON_GetArraySize(array), n);
    if (what[0]) return complain(diag, where, what, name);
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble)) {
            snprintf(what, sizeof what, "\"%s\"[%d] is not a %s", key, k,
                     cJSON_IsNumber(item) ? "finite number" : "number");
            return complain(diag, where, what, name);
        }
        out[k++ * stride] = item->valuedouble;
    }
    return PERP_OK;
}

/* A list of bounds, null for an infinite one. */
static perp_status read_bound(const void *json, const char *key, double infinite, int n,
                              double *bound, const char *where, const char *name, perp_diag *diag)
{
    char what[128];
    const cJSON *list = cJSON_GetObjectItem(json, key), *item;
    int k = 0;
    if (!list) return PERP_OK;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != n) {
        snprintf(what, sizeof what, "\"%s\" must be a list of %d numbers or nulls", key, n);
        return complain(diag, where, what, name);
    }
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsNull(item) && !(cJSON_IsNumber(item) && isfinite(item->valuedouble))) {
            snprintf(what, sizeof what, "\"%s\"[%d] is neither a finite number nor null", key, k);
            return complain(diag, where, what, name);
        }
        bound[k++] = cJSON_IsNull(item) ? infinite : item->valuedouble;
    }
    return PERP_OK;
}

perp_status problem_bounds(const void *json, int n, double *lo, double *hi, const char *where,
                           const char *name, perp_diag *diag)
{
    char what[96];
    perp_status status = read_bound(json, "lower", -(double)INFINITY, n, lo, where, name, diag);
    if (status == PERP_OK)
        status = read_bound(json, "upper", (double)INFINITY, n, hi, where, name, diag);
    for (int i = 0; i < n && status == PERP_OK; i++) {
        if (lo[i] <= hi[i]) continue;
        snprintf(what, sizeof what, "the lower bound of z[%d] is above the upper one", i);
        status = complain(diag, where, what, name);
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
    perp_status status = problem_bounds(p, n, lo, hi, where, out->name, diag);
    for (int i = 0; i < n && status == PERP_OK; i++) {
        int is_free = isinf(lo[i]) && isinf(hi[i]);
        out->nfree += is_free && !out->is_free[i];
        out->nbounded += !is_free && (lo[i] != 0 || !isinf(hi[i]));
        out->is_free[i] = (unsigned char)is_free;
    }
    if (out->nfree + out->nbounded > 0) out->view.lo = lo, out->view.hi = hi;
    return status;
}

perp_status problem_lcp_from_json(const void *json, const char *where, problem_lcp *out,
                                  perp_diag *diag)
{
    const cJSON *p = json, *M = cJSON_GetObjectItem(p, "M"), *q = cJSON_GetObjectItem(p, "q"),
                *free_indices = cJSON_GetObjectItem(p, "free"), *item;
    memset(out, 0, sizeof *out);
    const char *name = out->name;
    problem_name(p, out->name, sizeof out->name);
    if (!cJSON_IsArray(q) || !cJSON_IsArray(M))
        return complain(diag, where, "expected \"M\" (a list of rows) and \"q\" (a list)", name);
    if (free_indices && !cJSON_IsArray(free_indices))
        return complain(diag, where, "\"free\" must be a list of indices", name);
    int n = cJSON_GetArraySize(q), i = 0;
    size_t N = (size_t)n;
    const cJSON *count = cJSON_GetObjectItem(p, "n");
    if (count && !(cJSON_IsNumber(count) && count->valuedouble == n))
        return complain(diag, where, "\"n\" is not the number of entries of \"q\"", name);
    if (cJSON_GetArraySize(M) != n) /* before room is made for n x n numbers */
        return complain(diag, where,
                        "\"M\" must have as many rows and columns as \"q\" has entries", name);
    out->numbers = malloc((N * N + 3 * N + 1) * sizeof(double));
    out->is_free = calloc(N + 1, 1);
    if (!out->numbers || !out->is_free) {
        complain(diag, where, "out of memory", name);
        return PERP_ERR_MEMORY;
    }
    perp_status status = read_vector(q, "q", n, out->numbers + N * N, 1, where, name, diag);
    cJSON_ArrayForEach(item, M)
    {
        char key[32];
        snprintf(key, sizeof key, "M[%d]", i);
        if (status == PERP_OK)
            status = read_vector(item, key, n, out->numbers + i, n, where, name, diag);
        i++;
    }
    if (status != PERP_OK) return status;
    cJSON_ArrayForEach(item, free_indices)
    {
        double k = cJSON_IsNumber(item) ? item->valuedouble : -1;
        if (k != floor(k) || k < 0 || k >= n)
            return complain(diag, where, "\"free\" must list indices from 0 to n - 1", name);
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
