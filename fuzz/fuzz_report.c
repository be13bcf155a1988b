/* A model, "---", a run: the page and the figure of arbitrary columns and names; the page has no script but its own. With
 * libFuzzer (make fuzz FUZZ=report) coverage guides it; built plainly, the same file replays the files it is given. */

#include "cpu_limit.h"
#include "parts.h"
#include "perp/perp.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Places of "</script" in a file; -1 if it cannot be read. */
static int count_script_ends(const char *path)
{
    static const char word[] = "</script";
    FILE *file = fopen(path, "rb");
    int n = 0, c;
    size_t at = 0;
    if (!file) return -1;
    while ((c = getc(file)) != EOF) {
        at = c == word[at] ? at + 1 : c == word[0] ? 1 : 0;
        if (at < sizeof word - 1) continue;
        n++;
        at = 0;
    }
    fclose(file);
    return n;
}

static void write_both(const perp_report_run *run, perp_diag *diag)
{
    char path[64];
    snprintf(path, sizeof path, "fuzz_report.%ld", (long)getpid());
    perp_report_write_svg(run, 1, NULL, path, diag);
    remove(path);
    if (perp_report_has_page() && perp_report_write_html(run, 1, NULL, path, diag) == PERP_OK &&
        count_script_ends(path) != 3) {
        fprintf(stderr, "not true: the page has its own three scripts\n");
        abort();
    }
    remove(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limit_cpu();
    const char *table;
    size_t ntable, n = first_part((const char *)data, size, &table, &ntable);
    perp_diag diag = {0};
    perp_report_run run = {.name = "fuzz.csv"};
    perp_trajectory *rows = NULL;
    perp_model *model = NULL;
    perp_model_parse((const char *)data, n, "fuzz.perp", &model, &diag);
    if (perp_trajectory_parse(table, ntable, "fuzz.csv", &rows, &diag) == PERP_OK) {
        run.trajectory = rows;
        run.model = model;
        write_both(&run, &diag);
    }
    perp_trajectory_destroy(rows);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return 0;
}

#include "replay.h"
