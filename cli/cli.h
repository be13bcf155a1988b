/* What the subcommands share: exit codes, messages; options.h reads their options. A subcommand is
 * one file with `int perp__cmd_<name>(int argc, char **argv)`, its options in `cli_command_<name>`,
 * and one line in commands.def. argv[0] is the subcommand's name. */

#ifndef PERP_CLI_H
#define PERP_CLI_H

#include "options.h"

#include "perp/perp.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    CLI_DONE = 0,
    CLI_USAGE = 1,       /* unknown flag, missing value, unknown name in --set */
    CLI_BAD_INPUT = 2,   /* bad model or data */
    CLI_NO_SOLUTION = 3, /* no verified solution */
    CLI_FILE = 4,        /* file or memory */
    CLI_INTERRUPTED = 130
};

#define PERP_COMMAND(name, summary)                                                                \
    int perp__cmd_##name(int argc, char **argv);                                                   \
    extern const cli_command cli_command_##name;
#include "commands.def"
#undef PERP_COMMAND

/* --method of a request with perp_simulation_options `o`. */
extern const char *const cli_integrators[];
#define CLI_SPACED(name, word, ...) " " word
#define CLI_METHOD_OPTION                                                                          \
    {                                                                                              \
        "method", "NAME",                                                                          \
            "how time is stepped (default: the model's, else one that fits it, see perp "          \
            "check):" PERP_INTEGRATOR_LIST(CLI_SPACED),                                            \
            CLI_INTO(request, o.integrator), .words = cli_integrators                              \
    }

/* Apply "NAME=VALUE" settings in order. CLI_DONE, or the exit code after saying what is wrong. */
int cli_set_all(perp_model *model, const char *command, const cli_list *settings, perp_diag *diag);

/* The model of a file, with "NAME=VALUE" settings that hold from the start, and folders for what it
 * uses. The same codes. */
int cli_load(const char *file, const char *command, const cli_list *settings,
             const cli_list *folders, perp_model **model, perp_diag *diag);
/* And with these values, which hold before the others. */
int cli_load_at(const char *file, const char *command, const cli_list *settings,
                const perp_setting *at, int nat, const cli_list *folders, perp_model **model,
                perp_diag *diag);

/* --shard I/N: which, from 0 on, of how many. CLI_DONE, or CLI_USAGE after saying what is
 * expected. */
int cli_read_shard(const char *command, const char *text, int *shard, int *shards);

/* Under a launcher of several processes: refuse (a command that does not share its work), or join
 * them. `instead` ends the sentence of one that cannot. CLI_DONE, or the exit code after saying
 * why. */
int cli_refuse_ranks(const char *command);
/* Does this process say what all of a launcher would say? The first of them, by what it wrote into
 * the environment. */
int cli_speaks(void);
int cli_join_ranks(const char *command, const char *instead, int *rank, int *ranks,
                   perp_diag *diag);

/* -I of a request with a list `folder`. */
#define CLI_FOLDER_OPTION                                                                          \
    {                                                                                              \
        "I", "DIR", "where `use` looks for files that are not beside the model; may be repeated",  \
            CLI_INTO(request, folder)                                                              \
    }

/* Apply "NAME=FILE[:COLUMN]" settings in order: inputs from tables. The same codes. */
int cli_apply_inputs(perp_model *model, const char *command, const cli_list *settings,
                     perp_diag *diag);

/* Where a run starts: a time, or a row of an earlier run (its file and table; NULL: there is
 * none). */
typedef struct cli_start {
    double time;
    char *file;
    perp_trajectory *table;
} cli_start;

/* --from T, FILE or FILE:T: the model's initial values become those of the file's last row, or of
 * the row at T. The model and the columns are checked first. The same codes. Reports on standard
 * error which parameters differed in that run. */
int cli_begin_at(perp_model *model, const char *command, const char *from, cli_start *start,
                 perp_diag *diag);
void cli_note_parameters(const perp_model *model, const cli_start *start);
void cli_start_clear(cli_start *start);

/* What the start of a run breaks by itself, and by how much --project moved each state (NULL: it
 * did not). */
typedef struct cli_beginning {
    int broken;
    double *moved;
    perp_diag found;
} cli_beginning;

/* Look, and with `project` begin at the nearest start that breaks nothing: the model's initial
 * values become that, and the simulation is made again. */
perp_status cli_begin_right(perp_model *model, const perp_simulation_options *o, int project,
                            perp_simulation **sim, cli_beginning *start, perp_diag *diag);

/* On standard error what was broken. And which states were moved, a line of text without its end,
 * the caller frees; NULL: none. */
void cli_warn_of_start(const cli_beginning *start, const char *command);
char *cli_moved_text(const cli_beginning *start, const perp_model *model);
void cli_beginning_clear(cli_beginning *start);

/* Can it be read again once it is written: a regular file, also one that is not there yet? */
int cli_is_plain_file(const char *path);

/* Is it "-", or the file or pipe that standard output goes to? */
int cli_is_standard_output(const char *path);

/* "FILE, problem K" for messages about the Kth problem of a list, from 1. */
void cli_problem_place(char *text, size_t size, const char *file, int k);

/* keys.c: CLI_DONE, or CLI_BAD_INPUT after saying which key of the cJSON object nothing reads, or
 * is there twice. */
int cli_check_keys(const void *json, const char *kind, const char *where);

/* Say it on standard error; with --json it stands among the messages, too. Whole lines in the
 * end. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void cli_say(const char *format, ...);
void cli_say_list(const char *format, va_list arguments);
const char *cli_said(void);

/* Before perp_check: transcribe the model's plan block, as perp plan does first, and settle inputs
 * without a value; *settled counts them. The same codes. */
int cli_look(perp_model *model, perp_plan_size *plan, int *settled, perp_diag *diag);

/* The text in the style of perp fmt, n bytes, which the caller frees; NULL where it would be
 * another model, or memory is out. */
char *cli_format(const char *text, size_t *n);

/* Print what was found. Where memory had no room for a part of it, the command ends with
 * CLI_FILE. */
void cli_print_diag(const perp_diag *diag, FILE *out);

/* Write the page of a run from its CSV file, the CSV file of a planner's iterations (nullable) and
 * its model (nullable), with `nmore` further runs; in report.c. */
perp_status cli_report_run(const char *html, const char *csv, const char *log,
                           const perp_model *model, const perp_report_run *more, int nmore,
                           const char *name, const perp_motion *motion, perp_diag *diag);

/* Write the page of the first measured run and what the estimates predict for it, which the model
 * takes over; in identify_report.c. */
perp_status cli_report_fit(const char *html, perp_model *model, const perp_dataset *data,
                           const perp_identification *identification, perp_diag *diag);

/* Ctrl-C and its like (SIGINT, SIGTERM, SIGHUP) end the process and leave no temporary file. */
void cli_clean_up_on_signals(void);

/* They set cli_is_interrupted instead; a second one ends the process at once. */
void cli_catch_signals(void);
int cli_is_interrupted(void);

/* What a command may take. 0: no limit. */
typedef struct cli_budget {
    double seconds, megabytes; /* of the clock; of address space */
} cli_budget;

/* From now on the end of the time is a signal like the others, and is reported. Returns 0: the
 * system does not limit memory so. */
int cli_keep_to(const cli_budget *budget);

/* The name of a result, at `room`, or `path` itself. That of a run that stopped early is
 * NAME.partial, of a page NAME.partial.html; a file that is not regular keeps its name. A path that
 * is too long has no other name: NULL. */
enum { CLI_PATH_ROOM = 4096 };
const char *cli_result_name(const char *path, int is_partial, char room[CLI_PATH_ROOM]);

/* Seconds of a steady clock. */
double cli_now(void);

/* A member of perp_lcp_class in words: 1 yes, 0 no, -1 not decided. */
const char *cli_class_word(int class);

int cli_is_dash(const char *path); /* NULL is none */

/* Where summaries go: standard error where one of these has the standard output. */
FILE *cli_text_stream(const char *out, const char *page);

/* A comment "WHAT WORD WORD ..." of any length. PERP_OK, PERP_ERR_MEMORY */
perp_status cli_write_words(perp_trajectory_writer *writer, const char *what,
                            const char *const *word, int n);

/* A comment "param NAME = VALUE UNIT" for each parameter. */
void cli_write_parameters(perp_trajectory_writer *writer, const perp_model *model);

/* perp_simulation_recommend; where memory is out the command ends with CLI_FILE. */
perp_integrator cli_recommend(const perp_model *model);

/* The exit code for a failed call. That memory ran out is kept, and said when the command ends,
 * whatever it ends with. */
int cli_exit_code(perp_status status);
/* The exit code for reading a file: the library that reads it may be missing, as the file may. */
int cli_file_code(perp_status status);
int cli_is_out_of_memory(void);

#endif
