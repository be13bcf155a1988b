/* Recorded runs: reading files and folders, and the checks that need no model. */

#include "base/arena.h"
#include "base/base.h"
#include "perp/identify.h"
#include "trajectory/trajectory.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct perp_dataset {
    int n, crun, cname;
    perp_trajectory **table;
    char **name;
};

perp_status perp_dataset_create(perp_dataset **out)
{
    if (!out) return PERP_ERR_ARG;
    *out = calloc(1, sizeof **out);
    return *out ? PERP_OK : PERP_ERR_MEMORY;
}

void perp_dataset_destroy(perp_dataset *data)
{
    if (!data) return;
    for (int i = 0; i < data->n; i++) {
        perp_trajectory_destroy(data->table[i]);
        free(data->name[i]);
    }
    free(data->table);
    free(data->name);
    free(data);
}

int perp_dataset_runs(const perp_dataset *data)
{
    return data ? data->n : 0;
}

const char *perp_dataset_name(const perp_dataset *data, int run)
{
    return data && run >= 0 && run < data->n ? data->name[run] : NULL;
}

const perp_trajectory *perp_dataset_table(const perp_dataset *data, int run)
{
    return data && run >= 0 && run < data->n ? data->table[run] : NULL;
}

/* Checks -------------------------------------------------------------------------------------- */

static perp_status check_times(const perp_trajectory *table, const char *name, perp_diag *diag)
{
    int c = perp_trajectory_find(table, "t"), n = perp_trajectory_rows(table);
    perp__place place = perp__in(name);
    if (c < 0) {
        perp__refuse(diag, PERP_ERR_DATA, place, "no column 't' (time [s]); it has:");
        perp__list_columns(diag, table);
        return PERP_ERR_DATA;
    }
    if (n < 2)
        return perp__refuse(diag, PERP_ERR_DATA, place, "%d rows; a run needs at least two\n", n);
    const double *t = perp_trajectory_column(table, c);
    for (int i = 0; i < n; i++) {
        if (!isfinite(t[i]))
            return perp__refuse(diag, PERP_ERR_DATA, place,
                                "row %d: the time 't' is %g; expected a number\n", i + 1, t[i]);
        if (i > 0 && t[i] <= t[i - 1])
            return perp__refuse(diag, PERP_ERR_DATA, place,
                                "row %d: time %.10g is not after %.10g; column 't' must increase "
                                "(one file for each run)\n",
                                i + 1, t[i], t[i - 1]);
    }
    return PERP_OK;
}

static perp_status check_values(const perp_trajectory *table, const char *name, perp_diag *diag)
{
    for (int c = 0; c < perp_trajectory_columns(table); c++) {
        const double *x = perp_trajectory_column(table, c);
        for (int i = 0; i < perp_trajectory_rows(table); i++) {
            if (!isinf(x[i])) continue;
            return perp__refuse(diag, PERP_ERR_DATA, perp__in(name),
                                "row %d: column '%s' is infinite; leave a missing sample empty\n",
                                i + 1, perp_trajectory_name(table, c));
        }
    }
    return PERP_OK;
}

static perp_status keep(perp_dataset *data, perp_trajectory *table, const char *name)
{
    char *copy = malloc(strlen(name) + 1);
    if (!copy || !perp__grow(&data->table, &data->crun, data->n + 1, sizeof *data->table) ||
        !perp__grow(&data->name, &data->cname, data->n + 1, sizeof *data->name)) {
        free(copy);
        return PERP_ERR_MEMORY;
    }
    strcpy(copy, name);
    data->table[data->n] = table;
    data->name[data->n++] = copy;
    return PERP_OK;
}

perp_status perp_dataset_add(perp_dataset *data, perp_trajectory *table, const char *name,
                             perp_diag *diag)
{
    perp_status status = data && table && name ? PERP_OK : PERP_ERR_ARG;
    if (status == PERP_OK) status = check_times(table, name, diag);
    if (status == PERP_OK) status = check_values(table, name, diag);
    if (status == PERP_OK) status = keep(data, table, name);
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, name);
    if (status != PERP_OK) perp_trajectory_destroy(table);
    return status;
}

/* Files and folders --------------------------------------------------------------------------- */

static perp_status read_file(perp_dataset *data, const char *path, perp_diag *diag)
{
    perp_trajectory *table;
    perp_status status = perp_trajectory_read(path, &table, diag);
    return status == PERP_OK ? perp_dataset_add(data, table, path, diag) : status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int is_table(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot > name && name[0] != '.' &&
           (strcmp(dot, ".csv") == 0 || strcmp(dot, PERP_BINARY_SUFFIX) == 0);
}

/* Paths of the folder's tables, sorted. Returns 0 when memory is out. */
static int list_folder(DIR *folder, const char *path, char ***list, int *n)
{
    int capacity = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!is_table(entry->d_name)) continue;
        char *file = malloc(strlen(path) + strlen(entry->d_name) + 2);
        if (!file || !perp__grow(list, &capacity, *n + 1, sizeof **list)) {
            free(file);
            return 0;
        }
        strcpy(file, path);
        if (file[strlen(file) - 1] != '/') strcat(file, "/");
        strcat(file, entry->d_name);
        (*list)[(*n)++] = file;
    }
    if (*n) qsort(*list, (size_t)*n, sizeof **list, by_name);
    return 1;
}

static perp_status read_folder(perp_dataset *data, const char *path, perp_diag *diag)
{
    char **list = NULL;
    int n = 0;
    DIR *folder = opendir(path);
    perp_status status = PERP_OK;
    if (!folder) {
        status = perp__refuse(diag, PERP_ERR_FILE, perp__in(path), "%s\n", strerror(errno));
    } else if (!list_folder(folder, path, &list, &n)) {
        status = perp__out_of_memory(diag, path);
    } else if (n == 0) {
        status = perp__refuse(diag, PERP_ERR_DATA, perp__in(path),
                              "no .csv or " PERP_BINARY_SUFFIX " file in this folder\n");
    }
    if (folder) closedir(folder);
    for (int i = 0; i < n && status == PERP_OK; i++) status = read_file(data, list[i], diag);
    for (int i = 0; i < n; i++) free(list[i]);
    free(list);
    return status;
}

perp_status perp_dataset_read(perp_dataset *data, const char *path, perp_diag *diag)
{
    struct stat info;
    if (!data || !path || !path[0]) return PERP_ERR_ARG;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return read_folder(data, path, diag);
    return read_file(data, path, diag);
}
