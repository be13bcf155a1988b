/* perp report: runs in, pictures out. */

#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_SVG, OPT_COLUMNS, OPT_TITLE, OPT_HELP };

static const cli_option options[] = {
    {"svg", "OUT.svg", "write the main plots as SVG; - is standard output"},
    {"columns", "A,B,...", "show these columns, or arrays of them, only"},
    {"title", "TEXT", "above the plots (default: the name of the run)"},
    {"help", NULL, "this text"},
};

enum { NOPTIONS = sizeof options / sizeof *options, MAX_RUNS = 16, MAX_COLUMNS = 256 };

typedef struct request {
    const char *file[MAX_RUNS], *svg, *title;
    int nfile;
    char *columns;
} request;

static void print_help(void)
{
    printf("usage: perp report RUN.csv [RUN2.csv ...] [options]\n\n"
           "Show one run, or several over each other: every column over time, those of one unit "
           "together.\n\n");
    cli_print_options(options, NOPTIONS);
    printf("\nexamples:\n"
           "  perp simulate examples/notes/particle.perp -o particle.csv\n"
           "  perp report particle.csv --svg particle.svg\n\n"
           "exit codes: 0 done, 1 usage, 2 bad data, 4 file or memory\n");
}

static int keep_file(const cli_args *args, request *r)
{
    if (r->nfile == MAX_RUNS) {
        fprintf(stderr, "perp report: more than %d runs\n", MAX_RUNS);
        return 0;
    }
    r->file[r->nfile++] = args->value;
    return 1;
}

/* CLI_DONE to go on, CLI_USAGE, or -1 when help was printed. */
static int read_request(int argc, char **argv, request *r)
{
    cli_args args = {.argc = argc,
                     .argv = argv,
                     .at = 1,
                     .command = "report",
                     .options = options,
                     .noptions = NOPTIONS};
    *r = (request){0};
    for (int k; (k = cli_next(&args)) != CLI_END;) {
        switch (k) {
        case OPT_SVG: r->svg = args.value; break;
        case OPT_COLUMNS: r->columns = (char *)args.value; break;
        case OPT_TITLE: r->title = args.value; break;
        case OPT_HELP: print_help(); return -1;
        case CLI_OPERAND:
            if (!keep_file(&args, r)) return CLI_USAGE;
            break;
        default: return CLI_USAGE;
        }
    }
    if (!r->nfile || !r->svg) {
        fprintf(stderr,
                "perp report: %s usage: perp report RUN.csv [RUN2.csv ...] --svg OUT.svg; see "
                "perp report --help\n",
                r->nfile ? "where to?" : "which run?");
        return CLI_USAGE;
    }
    return CLI_DONE;
}

/* Cut "a,b,c" at its commas. */
static int split(char *list, const char **part)
{
    int n = 0;
    for (char *at = list; at && n < MAX_COLUMNS;) {
        char *comma = at;
        for (int depth = 0; *comma && (depth || *comma != ','); comma++)
            depth += (*comma == '[') - (*comma == ']'); /* r[2,1] */
        part[n++] = at;
        at = *comma ? comma + 1 : NULL;
        *comma = 0;
    }
    return n;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static perp_status report(const request *r, const perp_report_run *runs, perp_diag *diag)
{
    const char *columns[MAX_COLUMNS];
    perp_report_options o = perp_report_options_default();
    o.title = r->title;
    if (r->columns) {
        o.ncolumns = split(r->columns, columns);
        o.columns = columns;
    }
    return perp_report_write_svg(runs, r->nfile, &o, r->svg, diag);
}

int perp__cmd_report(int argc, char **argv)
{
    request r;
    int code = read_request(argc, argv, &r);
    if (code) return code < 0 ? CLI_DONE : code;
    perp_diag diag = {0};
    perp_trajectory *trajectory[MAX_RUNS] = {0};
    perp_report_run runs[MAX_RUNS] = {{0}};
    perp_status status = PERP_OK;
    for (int i = 0; i < r.nfile && status == PERP_OK; i++) {
        status = perp_trajectory_read(r.file[i], &trajectory[i], &diag);
        runs[i] = (perp_report_run){.name = base_name(r.file[i]), .trajectory = trajectory[i]};
    }
    if (status == PERP_OK) status = report(&r, runs, &diag);
    fputs(perp_diag_text(&diag), stderr);
    perp_diag_clear(&diag);
    for (int i = 0; i < r.nfile; i++) perp_trajectory_destroy(trajectory[i]);
    return cli_exit_code(status);
}
