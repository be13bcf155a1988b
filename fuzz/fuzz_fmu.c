/* The settings of an FMU under arbitrary text, beside a model that they may name: an instance that runs, or none and a reason. The code of FMUs is in no
 * library that programs link. */

#define _XOPEN_SOURCE 700 /* mkdtemp */

#include "../src/export/fmu/instance.c"
#include "cpu_limit.h"

#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int said;

static void hear(void *given, perp__fmu_status status, const char *text)
{
    (void)given, (void)status;
    said += text[0] != 0;
}

static void write_file(const char *folder, const char *name, const void *bytes, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) abort();
}

static void take_away(const char *folder)
{
    char path[128];
    snprintf(path, sizeof path, "%s/perp.txt", folder);
    remove(path);
    snprintf(path, sizeof path, "%s/a.perp", folder);
    remove(path);
    rmdir(folder);
}

/* The rest of the last line "token ..". */
static void find_token(const uint8_t *data, size_t size, char *token, size_t room)
{
    size_t at = size > 0 ? size - 1 : 0, n = 0;
    while (at > 0 && data[at - 1] != '\n') at--;
    for (at += 6; at < size && data[at] != '\n' && n + 1 < room; at++) token[n++] = (char)data[at];
    token[n] = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char model[] = "param mu = 0.3\nstate v = 1\nvar f\nder(v) = f\n"
                                "-mu <= f <= mu perp v\nsimulate to 0.1 step 0.01\n";
    char folder[] = "/tmp/perp-fuzz-XXXXXX", token[80];
    double reached;
    limit_cpu();
    if (!mkdtemp(folder)) abort();
    write_file(folder, "a.perp", model, sizeof model - 1);
    write_file(folder, "perp.txt", data, size);
    find_token(data, size, token, sizeof token);
    said = 0;
    perp__fmu *f = perp__fmu_open(folder, token, (perp__fmu_host){hear, NULL});
    if (!f && !said) abort();
    if (f && perp__fmu_setup(f, 0, 0.1) == PERP__FMU_OK &&
        perp__fmu_initialize(f) == PERP__FMU_OK && perp__fmu_begin(f) == PERP__FMU_OK)
        perp__fmu_step(f, 0, 0.01, 0, &reached);
    perp__fmu_close(f);
    take_away(folder);
    return 0;
}

#include "replay.h"
