#include "cli.h"
#include "unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *cli_folder(void)
{
    static char folder[512];
    if (!folder[0]) {
        mkdir(PERP_BUILD_DIR "/scratch", 0777);
        snprintf(folder, sizeof folder, PERP_BUILD_DIR "/scratch/%ld", (long)getpid());
        mkdir(folder, 0777);
    }
    return folder;
}

const char *cli_path(const char *name)
{
    static char path[8][1024];
    static int next;
    char *p = path[next++ % 8];
    snprintf(p, sizeof path[0], "%s/%s", cli_folder(), name);
    return p;
}

const char *cli_file(const char *name, const char *text)
{
    const char *path = cli_path(name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
        perror(path);
        abort();
    }
    return path;
}

char *cli_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t length = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    if (!text) abort();
    while (file && !feof(file)) {
        if (length + 1 >= capacity) {
            capacity *= 2;
            text = realloc(text, capacity);
            if (!text) abort();
        }
        length += fread(text + length, 1, capacity - length - 1, file);
    }
    text[length] = 0;
    if (file) fclose(file);
    return text;
}

static cli_result run(const char *arguments, va_list args)
{
    char line[4096], command[8192];
    vsnprintf(line, sizeof line, arguments, args);
    const char *out = cli_path("stdout"), *err = cli_path("stderr");
    snprintf(command, sizeof command,
             "cd '%s' && PERP='%s' && { \"$PERP\" %s; } >'%s' 2>'%s' </dev/null", PERP_SOURCE_DIR,
             PERP_CLI, line, out, err);
    int status = system(command);
    return (cli_result){WIFEXITED(status) ? WEXITSTATUS(status) : -1, cli_read(out), cli_read(err)};
}

cli_result cli_run(const char *arguments, ...)
{
    va_list args;
    va_start(args, arguments);
    cli_result result = run(arguments, args);
    va_end(args);
    return result;
}

void cli_expect(int code, const char *out, const char *err, const char *arguments, ...)
{
    va_list args;
    va_start(args, arguments);
    cli_result r = run(arguments, args);
    va_end(args);
    if (r.code != code || (out && !strstr(r.out, out)) || (err && !strstr(r.err, err)))
        fail_msg("perp %s\nexit code %d, expected %d with '%s', '%s':\n%s%s", arguments, r.code,
                 code, out ? out : "", err ? err : "", r.out, r.err);
    cli_free(&r);
}

void cli_free(cli_result *result)
{
    free(result->out);
    free(result->err);
}
