/* perp in a page: the commands that the playground has, and what it asks of the host that a browser has not.
 *
 *     check, simulate, plan, report, fmt   as on the command line, in the page's own files
 *     values FILE                          what the page makes sliders of, lines of fields between tabs:
 *                                          "model NAME SIMULATES PLANS" (0 or 1 each: has it a block that says how),
 *                                          "param NAME VALUE UNIT LO HI LINE" */

#include "cli.h"
#include "external/compiler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files have neither owners nor rights. */
int fchown(int file, uid_t owner, gid_t group)
{
    (void)file, (void)owner, (void)group;
    return 0;
}

int fchmod(int file, mode_t mode)
{
    (void)file, (void)mode;
    return 0;
}

int fsync(int file)
{
    (void)file;
    return 0;
}

int chmod(const char *path, mode_t mode)
{
    (void)path, (void)mode;
    return 0;
}

int kill(pid_t process, int signal_number)
{
    (void)process, (void)signal_number;
    return 0;
}

/* And one name each, in the only folder. */
char *realpath(const char *path, char *real)
{
    struct stat found;
    while (*path == '/' || (*path == '.' && (path[1] == '/' || !path[1]))) path++;
    if (*path && stat(path, &found) != 0) return NULL;
    if (!real) real = malloc(strlen(path) + 2);
    if (!real) return NULL;
    real[0] = '/';
    strcpy(real + 1, path);
    return real;
}

/* The page ends a run by ending its worker. */
void cli_clean_up_on_signals(void) {}

void cli_catch_signals(void) {}

int cli_is_interrupted(void)
{
    return 0;
}

int cli_keep_to(const cli_budget *budget)
{
    return !(budget->megabytes > 0);
}

/* There is no compiler (external/compiler.h). */
perp_status perp__cache_folder(char folder[PERP__FOLDER_ROOM], perp_diag *diag)
{
    (void)folder, (void)diag;
    return PERP_ERR_UNAVAILABLE;
}

perp_status perp__compile(const char *text, size_t length, perp__compiled **compiled,
                          perp_diag *diag)
{
    (void)text, (void)length, (void)diag;
    *compiled = NULL;
    return PERP_ERR_UNAVAILABLE;
}

perp__compiled_function *perp__compiled_find(const perp__compiled *compiled, const char *name)
{
    (void)compiled, (void)name;
    return NULL;
}

void perp__compiled_release(perp__compiled *compiled)
{
    (void)compiled;
}

const char *perp__compiled_by(const perp__compiled *compiled)
{
    (void)compiled;
    return "";
}

static void print_number(double x)
{
    char text[PERP_NUMBER_SIZE];
    perp_number_write(x, text);
    printf("\t%s", text);
}

/* What is at the bottom of the page's sliders: parameters of this file, since only those are in the editor. */
static int print_values(const char *file)
{
    perp_diag diag = {0};
    perp_model *model;
    perp_status status = perp_model_load(file, &model, &diag);
    cli_print_diag(&diag, stderr);
    perp_diag_clear(&diag);
    if (status != PERP_OK) return cli_exit_code(status);
    printf("model\t%s\t%d\t%d\n", perp_model_name(model),
           !isnan(perp_model_simulate_task(model).to), perp_model_has_block(model, "plan"));
    for (int i = 0; i < perp_model_count(model, PERP_PARAM); i++) {
        perp_symbol s = perp_model_symbol(model, PERP_PARAM, i);
        if (strcmp(s.file, perp_model_file(model)) != 0) continue;
        printf("param\t%s", s.name);
        print_number(s.value);
        printf("\t%s", s.unit);
        print_number(s.lo);
        print_number(s.hi);
        printf("\t%d\n", s.line);
    }
    perp_model_destroy(model);
    return CLI_DONE;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {{"check", perp__cmd_check},
                {"simulate", perp__cmd_simulate},
                {"plan", perp__cmd_plan},
                {"report", perp__cmd_report},
                {"fmt", perp__cmd_fmt}};

static int run(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "values") == 0) return print_values(argv[2]);
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], commands[i].name) != 0) continue;
        int code = commands[i].run(argc - 1, argv + 1);
        return code == CLI_HELPED ? CLI_DONE : code;
    }
    fprintf(stderr, "perp: the playground has check, simulate, plan, report and fmt\n");
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    int code = run(argc, argv);
    if (!cli_is_out_of_memory()) return code;
    fprintf(stderr, "perp: %s\n", perp_status_message(PERP_ERR_MEMORY));
    return CLI_FILE;
}
