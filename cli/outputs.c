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

/* Does the list, with blanks between, have this word? */
static int is_listed(const char *list, const char *word, size_t n)
{
    for (const char *at = list; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == n && strncmp(at, word, n) == 0) return 1;
    return 0;
}

/* Endings with a meaning. */
static const char formats[] =
    "c csv fmu h h5 hdf5 htm html json jsonl mjcf nl perp perpbin png sol "
    "stl svg urdf wasm xml zip";

/* The text behind the last dot of a file's name. "": there is none; a first dot is none. */
static const char *ending_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot && dot > name ? dot + 1 : "";
}

/* Is it one of them, in small or capital letters? */
static int is_format(const char *ending)
{
    char small[16];
    size_t n = strlen(ending);
    if (n >= sizeof small) return 0;
    for (size_t i = 0; i <= n; i++)
        small[i] = (char)(ending[i] >= 'A' && ending[i] <= 'Z' ? ending[i] - 'A' + 'a' : ending[i]);
    return is_listed(formats, small, n);
}

int cli_check_ending(const char *command, const char *option, const char *path, const char *endings)
{
    const char *ending = ending_of(path);
    if (!endings || !*ending || !cli_is_plain_file(path)) return CLI_DONE;
    int is_any = is_listed(endings, "*", 1) && !is_format(ending);
    if (is_any || is_listed(endings, ending, strlen(ending))) return CLI_DONE;
    char text[64] = "";
    const char *join = ".";
    for (const char *at = endings; *at && *at != '*'; at += strcspn(at, " "), at += *at == ' ') {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%.*s", join, (int)strcspn(at, " "), at);
        join = " or .";
    }
    cli_say("perp %s: %s %s: what is written there ends in %s, not in .%s\n", command, option, path,
            text, ending);
    return CLI_USAGE;
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
        char option[32];
        snprintf(option, sizeof option, "%s%s", out.dash, out.option);
        int code = cli_check_ending(c->name, option, out.path, c->options[k].endings);
        if (code != CLI_DONE) return code;
    }
    return CLI_DONE;
}
