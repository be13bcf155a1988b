#include "tosses.h"
#include "../../tests/support/outcomes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAME   (1.0 / 148)
#define DEGREES (180 / 3.141592653589793)

static const char *const cube_columns[TOSS_COLUMNS] = {"p[1]", "p[2]", "p[3]", "q[1]", "q[2]",
                                                       "q[3]", "q[4]", "v[1]", "v[2]", "v[3]",
                                                       "w[1]", "w[2]", "w[3]"};

const toss_body toss_cube = {TOSS_COLUMNS, 0, cube_columns, 0.1048};

/* A quaternion and its negative are one rotation: keep to the side of the row before. */
static void unwrap(toss *t, int columns)
{
    for (int i = 1; i < t->rows; i++) {
        double *q = t->row + i * columns + 3, dot = 0;
        for (int k = 0; k < 4; k++) dot += q[k] * q[k - columns];
        for (int k = 0; k < 4 && dot < 0; k++) q[k] = -q[k];
    }
}

static int read_rows(const char *folder, int columns, tosses *all, long *n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tosses.f64", folder);
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    int ok =
        fseek(file, 0, SEEK_END) == 0 && (*n = ftell(file) / (columns * (long)sizeof(double))) > 0;
    size_t count = ok ? (size_t)*n * (size_t)columns : 0;
    all->memory = malloc(count * sizeof(double) + 1);
    ok = ok && all->memory && fseek(file, 0, SEEK_SET) == 0 &&
         fread(all->memory, sizeof(double), count, file) == count;
    fclose(file);
    return ok;
}

int tosses_read(const char *folder, int columns, tosses *all)
{
    char path[4096], line[256];
    long n;
    *all = (tosses){0};
    if (!read_rows(folder, columns, all, &n)) return 0;
    snprintf(path, sizeof path, "%s/index.csv", folder);
    FILE *file = fopen(path, "r");
    int ok = file && fgets(line, sizeof line, file);
    while (ok && fgets(line, sizeof line, file)) {
        int k, first, rows, contact = 0, rest, is_long = 0;
        if (sscanf(line, "%d,%d,%d,%d,%d,%d", &k, &first, &rows, &contact, &rest, &is_long) < 3)
            continue;
        toss *grown = realloc(all->toss, ((size_t)all->n + 1) * sizeof *grown);
        ok = grown && k == all->n && first >= 0 && rows > 1 && first + rows <= n;
        if (grown) all->toss = grown;
        if (!ok) break;
        all->toss[all->n] = (toss){rows, is_long, contact, all->memory + first * columns};
        unwrap(&all->toss[all->n++], columns);
    }
    if (file) fclose(file);
    return ok && all->n > 0;
}

void tosses_free(tosses *all)
{
    free(all->toss);
    free(all->memory);
    *all = (tosses){0};
}

perp_status toss_add(const toss_body *body, perp_dataset *data, const toss *of, const char *name,
                     perp_diag *diag)
{
    int columns = body->columns;
    size_t room = 256 + (size_t)of->rows * (size_t)(columns + 5) * 26, used = 0;
    char *text = malloc(room);
    if (!text) return PERP_ERR_MEMORY;
    used += (size_t)snprintf(text, room, "t");
    for (int c = 0; c < columns; c++)
        used += (size_t)snprintf(text + used, room - used, ",%s", body->name[c]);
    used += (size_t)snprintf(text + used, room - used, ",n1,n2,n3,n4");
    for (int i = 0; i < of->rows; i++) {
        const double *x = of->row + i * columns;
        used += (size_t)snprintf(text + used, room - used, "\n%.17g", i * FRAME);
        for (int c = 0; c < columns; c++)
            used += (size_t)snprintf(text + used, room - used, ",%.17g", x[c]);
        for (int c = 3; c < 7; c++)
            used += (size_t)snprintf(text + used, room - used, ",%.17g", x[c]);
    }
    perp_trajectory *table;
    perp_status status = perp_trajectory_parse(text, used, name, &table, diag);
    free(text);
    return status == PERP_OK ? perp_dataset_add(data, table, name, diag) : status;
}

static void add_row(const toss_body *body, const double *sim, const double *row, toss_error *sum)
{
    double distance = 0, dot = 0, length = 0;
    for (int k = 0; k < 3; k++) distance += (sim[k] - row[k]) * (sim[k] - row[k]);
    for (int k = 3; k < 7; k++) dot += sim[k] * row[k], length += sim[k] * sim[k];
    sum->position += 100 * sqrt(distance) / body->width;
    sum->rotation += 2 * acos(fmin(1, fabs(dot) / sqrt(length))) * DEGREES;
    if (body->hinge)
        sum->hinge +=
            fabs(remainder(sim[body->hinge] - row[body->hinge], 2 * 180 / DEGREES)) * DEGREES;
}

perp_status toss_simulate(const toss_body *body, perp_model *model, const toss *of,
                          toss_error *error, perp_diag *diag)
{
    double row[512];
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_status status = PERP_OK;
    *error = (toss_error){0, 0, 0};
    o.step = FRAME;
    o.to = (of->rows - 1) * FRAME;
    for (int c = 0; c < body->columns && status == PERP_OK; c++)
        status = perp_model_set(model, body->name[c], of->row[c], diag);
    if (status == PERP_OK) status = perp_simulation_create(model, &o, &sim, diag);
    if (status != PERP_OK) return status;
    if (perp_simulation_columns(sim) > (int)(sizeof row / sizeof *row)) status = PERP_ERR_DIM;
    for (int i = 0; i < of->rows && status == PERP_OK; i++) {
        if (i > 0) status = simulation_step(sim, NULL, diag);
        perp_simulation_row(sim, row);
        add_row(body, row + 1, of->row + i * body->columns, error);
    }
    error->position /= of->rows;
    error->rotation /= of->rows;
    error->hinge /= of->rows;
    perp_simulation_destroy(sim);
    return status;
}
