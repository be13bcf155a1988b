/* Claims with their verdicts, printed and kept as rows of a Markdown table; figures. */

#include "support.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    const char *figures, *table;
    char temporary[1024];
    FILE *out;   /* the table; NULL: none is asked for */
    FILE *below; /* what comes below it, kept in memory */
    char *text, drawn[64][64];
    size_t length;
    int claims, differ, ndrawn;
    double begin;
} study;

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(2);
}

void *allocate(size_t bytes)
{
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (!memory) die("out of memory");
    return memory;
}

double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void study_begin(const char *title, int argc, char **argv)
{
    if (argc != 1 && argc != 3) die("usage: %s [FIGURES TABLE]", argv[0]);
    study.begin = now_s();
    printf("%s\n", title);
    if (argc == 1) return;
    study.figures = argv[1], study.table = argv[2];
    int n = snprintf(study.temporary, sizeof study.temporary, "%s.tmp", study.table);
    if (n < 0 || (size_t)n >= sizeof study.temporary) die("%s: the name is too long", study.table);
    study.out = fopen(study.temporary, "w");
    if (!study.out) die("%s: cannot be written", study.temporary);
    study.below = open_memstream(&study.text, &study.length);
    if (!study.below) die("out of memory");
    fprintf(study.out,
            "## %s\n\n| | claim | ours | verdict | figure |\n| --- | --- | --- | --- | --- |\n",
            title);
}

int study_is_quick(void)
{
    return study.out == NULL;
}

/* A cell of a Markdown table. */
static void cell(const char *text)
{
    fputs("| ", study.out);
    for (; *text; text++) {
        if (*text == '|') fputc('\\', study.out);
        fputc(*text, study.out);
    }
    fputc(' ', study.out);
}

/* Length of a file name without .svg. */
static int stem(const char *name)
{
    return (int)strlen(name) - 4;
}

static const char *verdict_of(errata expected, int holds)
{
    if (expected == HOLDS) return holds ? "holds" : "FAILS, unexpected";
    return holds ? "HOLDS, unexpected" : "does not hold";
}

void claim(const char *section, const char *text, errata expected, int holds, const char *figure,
           const char *ours, ...)
{
    char measured[1024], link[256] = "";
    va_list args;
    va_start(args, ours);
    vsnprintf(measured, sizeof measured, ours, args);
    va_end(args);
    const char *verdict = verdict_of(expected, holds);
    study.claims++;
    study.differ += (expected == HOLDS) != (holds != 0);
    printf("  %s | %s | %s | %s\n", section, text, measured, verdict);
    fflush(stdout);
    if (!study.out) return;
    if (figure) snprintf(link, sizeof link, "[%.*s](figures/%s)", stem(figure), figure, figure);
    cell(section), cell(text), cell(measured), cell(verdict), cell(link);
    fputs("|\n", study.out);
}

void study_text(const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    vprintf(format, args);
    if (study.out) vfprintf(study.below, format, again);
    va_end(again);
    va_end(args);
}

static void finish_table(void)
{
    if (fclose(study.below) != 0) die("out of memory");
    fprintf(study.out, "\n%s\n", study.text);
    free(study.text);
    for (int i = 0; i < study.ndrawn; i++)
        fprintf(study.out, "![%.*s](figures/%s)\n\n", stem(study.drawn[i]), study.drawn[i],
                study.drawn[i]);
    if (fclose(study.out) != 0 || rename(study.temporary, study.table) != 0)
        die("%s: cannot be written", study.table);
}

int study_end(void)
{
    printf("%d claims, %d without the verdict that is expected, %.1f s\n", study.claims,
           study.differ, now_s() - study.begin);
    if (study.out) finish_table();
    return study.differ != 0;
}

void save_figure(const perp_figure *figure, const char *name)
{
    char path[1024];
    perp_diag diag = {0};
    if (!study.figures) return;
    snprintf(path, sizeof path, "%s/%s", study.figures, name);
    if (perp_figure_write_svg(figure, path, &diag) != PERP_OK)
        die("%s: %s", path, perp_diag_text(&diag));
    if (study.ndrawn == 64) die("too many figures");
    snprintf(study.drawn[study.ndrawn++], sizeof study.drawn[0], "%s", name);
}

void save_plot(const char *name, const char *title, perp_axis x, perp_axis y,
               const perp_series *series, int nseries)
{
    perp_panel panel = {.x = x, .y = y, .series = series, .nseries = nseries, .height = 320};
    perp_figure figure = {.title = title, .panels = &panel, .npanels = 1};
    save_figure(&figure, name);
}
