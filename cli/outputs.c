/* What a command writes: neither what it reads, nor two results in one file. */

#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int cli_is_standard_output(const char *path)
{
    struct stat x, y;
    return strcmp(path, "-") == 0 ||
           (stat(path, &x) == 0 && fstat(1, &y) == 0 && !S_ISCHR(x.st_mode) &&
            x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

int cli_is_plain_file(const char *path)
{
    struct stat s;
    return path && !cli_is_dash(path) && (stat(path, &s) != 0 || S_ISREG(s.st_mode));
}

const char *cli_result_name(const char *path, int is_partial, char room[CLI_PATH_ROOM])
{
    static const char page[] = ".html";
    size_t n = strlen(path), tail = sizeof page - 1;
    if (!is_partial || !cli_is_plain_file(path)) return path;
    int is_page = n > tail && strcmp(path + n - tail, page) == 0;
    if (is_page) n -= tail;
    int length = snprintf(room, CLI_PATH_ROOM, "%.*s.partial%s", (int)n, path, is_page ? page : "");
    return length < CLI_PATH_ROOM ? room : NULL;
}

static int is_device(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && (S_ISCHR(s.st_mode) || S_ISBLK(s.st_mode));
}

/* Does the folder that a file is to be written in exist? What takes hours is not begun
 * otherwise. */
static int has_folder(const char *out)
{
    const char *slash = strrchr(out, '/');
    struct stat found;
    if (!slash || slash == out) return 1;
    char *folder = malloc((size_t)(slash - out) + 1);
    if (!folder) return 1; /* writing will tell */
    memcpy(folder, out, (size_t)(slash - out));
    folder[slash - out] = 0;
    errno = 0;
    int ok = stat(folder, &found) == 0;
    free(folder);
    return ok;
}

/* A file to be written, and the option that names it. */
typedef struct written {
    const char *dash, *option, *path;
} written;

/* Is this file among those that the command reads? Says so. */
static int check_read(const char *command, const written *out, const char *read)
{
    if (!read || cli_is_dash(out->path) || is_device(out->path) ||
        !perp_file_is_same(out->path, read))
        return 1;
    cli_say("perp %s: %s%s %s would overwrite %s, which this run reads\n", command, out->dash,
            out->option, out->path, read);
    return 0;
}

static int check_written(const char *command, const written *out, const written *other)
{
    int is_standard = cli_is_dash(out->path);
    int same = is_standard ? cli_is_dash(other->path)
                           : !is_device(out->path) && perp_file_is_same(out->path, other->path);
    if (!same) return 1;
    cli_say("perp %s: %s%s and %s%s cannot both go to %s\n", command, other->dash, other->option,
            out->dash, out->option, is_standard ? "standard output" : out->path);
    return 0;
}

/* What row k of the options names; the path is NULL where the row is no output, or not given. */
static written output_of(const cli_command *c, const void *request, int k)
{
    const cli_option *o = &c->options[k];
    written out = {strlen(o->name) > 1 ? "--" : "-", o->name, NULL};
    if (o->is_output) memcpy(&out.path, (const char *)request + o->at, sizeof out.path);
    return out;
}

int cli_check_outputs(const cli_args *args, const void *request, const perp_model *model,
                      const char *const *read, int nread)
{
    const cli_command *c = args->command;
    int tables = model ? perp_model_count(model, PERP_INPUT) : 0;
    for (int k = 0; k < c->noptions; k++) {
        written out = output_of(c, request, k);
        if (!out.path) continue;
        if (!has_folder(out.path)) {
            cli_say("%s: cannot be written: %s\n", out.path, strerror(errno));
            return CLI_FILE;
        }
        int ok = !model || check_read(c->name, &out, perp_model_file(model));
        for (int i = 0; i < tables && ok; i++)
            ok = check_read(c->name, &out, perp_model_input_table(model, i));
        for (int i = 0; i < nread && ok; i++) ok = check_read(c->name, &out, read[i]);
        for (int i = 0; i < k && ok; i++) {
            written other = output_of(c, request, i);
            ok = !other.path || check_written(c->name, &out, &other);
        }
        if (!ok) return CLI_USAGE;
    }
    return CLI_DONE;
}
