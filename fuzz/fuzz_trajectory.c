/* The table reader under arbitrary bytes: what it accepts is consistent, and reads back the same
 * after it was written, in either format. With libFuzzer (make fuzz FUZZ=trajectory) coverage guides it; built
 * plainly, the same file replays the files it is given, as the tests do. */

#include "cpu_limit.h"
#include "perp/perp.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "not true: %s\n", what);
    abort();
}

#define REQUIRE(condition) require(condition, #condition)

static void write_table(const perp_trajectory *t, const char *path)
{
    int n = perp_trajectory_columns(t);
    perp_trajectory_writer *w;
    const char **name = malloc((size_t)n * sizeof *name);
    double *row = malloc((size_t)n * sizeof *row);
    REQUIRE(name && row);
    for (int c = 0; c < n; c++) name[c] = perp_trajectory_name(t, c);
    REQUIRE(perp_trajectory_writer_create(path, &w, NULL) == PERP_OK);
    REQUIRE(perp_trajectory_writer_header(w, n, name, NULL) == PERP_OK);
    for (int r = 0; r < perp_trajectory_rows(t); r++) {
        for (int c = 0; c < n; c++) row[c] = perp_trajectory_column(t, c)[r];
        REQUIRE(perp_trajectory_writer_row(w, row) == PERP_OK);
    }
    REQUIRE(perp_trajectory_writer_close(w, NULL, NULL) == PERP_OK);
    free(name);
    free(row);
}

static void compare(const perp_trajectory *t, const perp_trajectory *again)
{
    REQUIRE(perp_trajectory_is_complete(again));
    REQUIRE(perp_trajectory_rows(t) == perp_trajectory_rows(again));
    REQUIRE(perp_trajectory_columns(t) == perp_trajectory_columns(again));
    for (int c = 0; c < perp_trajectory_columns(t); c++) {
        REQUIRE(strcmp(perp_trajectory_name(t, c), perp_trajectory_name(again, c)) == 0);
        REQUIRE(perp_trajectory_find(again, perp_trajectory_name(t, c)) == c);
        for (int r = 0; r < perp_trajectory_rows(t); r++) {
            double x = perp_trajectory_column(t, c)[r], y = perp_trajectory_column(again, c)[r];
            REQUIRE(x == y || (x != x && y != y));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limit_cpu();
    perp_diag diag = {0};
    perp_trajectory *t, *again;
    char path[64];
    perp_status status = perp_trajectory_parse((const char *)data, size, "fuzz.csv", &t, &diag);
    REQUIRE((status == PERP_OK) == (diag.errors == 0));
    for (int k = 0; status == PERP_OK && k < 2; k++) {
        snprintf(path, sizeof path, "fuzz_trajectory.%ld%s", (long)getpid(),
                 k ? PERP_BINARY_SUFFIX : ".csv");
        write_table(t, path);
        status = perp_trajectory_read(path, &again, &diag);
        if (status != PERP_OK) fprintf(stderr, "%s", perp_diag_text(&diag));
        REQUIRE(status == PERP_OK);
        compare(t, again);
        perp_trajectory_destroy(again);
        remove(path);
    }
    perp_trajectory_destroy(t);
    perp_diag_clear(&diag);
    return 0;
}

#include "replay.h"
