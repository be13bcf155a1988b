/* Which files a run was made from: a line "# file HASH PATH" for the model and each table, and
 * finding these files again. A run may come from elsewhere, and name any file: only one that still
 * has the hash is read. */

#include "base/input.h"
#include "cli.h"
#include "fingerprint.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t HASH_OF_NOTHING = 0xcbf29ce484222325u;

/* FNV-1a. */
static uint64_t take_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < n; i++) hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}

/* Of the file's bytes. Returns 0 if the file cannot be read, or is none. */
int cli_fingerprint(const char *path, char text[17])
{
    unsigned char bytes[1 << 14];
    uint64_t hash = HASH_OF_NOTHING;
    const char *why;
    int file; /* no stream: memory may be out, and the file is there */
    ssize_t n = -1;
    if (perp__input_descriptor(path, PERP__REGULAR, SIZE_MAX, &file, &why) == PERP_OK) {
        while ((n = read(file, bytes, sizeof bytes)) > 0) hash = take_bytes(hash, bytes, (size_t)n);
        close(file);
    }
    snprintf(text, 17, "%016llx", (unsigned long long)hash);
    return n == 0;
}

void cli_fingerprint_data(const perp_dataset *data, char text[17])
{
    uint64_t hash = HASH_OF_NOTHING;
    for (int i = 0; i < perp_dataset_runs(data); i++) {
        cli_fingerprint(perp_dataset_name(data, i), text);
        hash = take_bytes(hash, text, 16);
    }
    snprintf(text, 17, "%016llx", (unsigned long long)hash);
}

static perp_status write_file(perp_trajectory_writer *w, const char *path)
{
    char hash[17];
    const char *words[] = {hash, path};
    return path && cli_fingerprint(path, hash) ? cli_write_words(w, "file", words, 2) : PERP_OK;
}

perp_status cli_write_fingerprints(perp_trajectory_writer *w, const perp_model *model)
{
    perp_status status = write_file(w, perp_model_file(model));
    for (int i = 0; i < perp_model_count(model, PERP_INPUT) && status == PERP_OK; i++) {
        const char *table = perp_model_input_table(model, i);
        int seen = 0;
        for (int k = 0; k < i && table; k++) {
            const char *before = perp_model_input_table(model, k);
            seen |= before && strcmp(before, table) == 0;
        }
        if (!seen) status = write_file(w, table);
    }
    return status;
}

/* The i-th file of the run: its path, and its hash in `hash`; NULL behind the last. */
static const char *recorded(const perp_trajectory *run, int i, char hash[17])
{
    const char *line;
    for (int k = 0; (line = perp_trajectory_comment(run, k)) != NULL; k++) {
        if (strncmp(line, "file ", 5) != 0 || strlen(line) < 23 || line[21] != ' ' || i-- > 0)
            continue;
        snprintf(hash, 17, "%.16s", line + 5);
        return line + 22;
    }
    return NULL;
}

static int has_hash(const char *path, const char *hash)
{
    char text[17];
    return cli_fingerprint(path, text) && strcmp(text, hash) == 0;
}

int cli_find_file(const perp_trajectory *run, const char *csv, const char *path, char *found,
                  size_t size)
{
    char hash[17];
    const char *other, *slash = strrchr(csv, '/'), *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    for (int i = 0; (other = recorded(run, i, hash)) != NULL; i++) {
        if (strcmp(other, path) != 0) continue;
        snprintf(found, size, "%.*s%s", slash ? (int)(slash + 1 - csv) : 0, csv, base);
        return has_hash(found, hash);
    }
    return 0;
}

int cli_is_recorded(const perp_trajectory *run, const char *path)
{
    char hash[17], text[17];
    if (!cli_fingerprint(path, text)) return 0;
    for (int i = 0; recorded(run, i, hash); i++) {
        if (strcmp(hash, text) == 0) return 1;
    }
    return 0;
}

int cli_find_input(const perp_trajectory *run, const char *csv, const char *setting, char *found,
                   size_t size)
{
    char hash[17], file[4096];
    const char *path, *equals = strchr(setting, '=');
    for (int i = 0; equals && (path = recorded(run, i, hash)) != NULL; i++) {
        size_t n = strlen(path);
        if (strncmp(equals + 1, path, n) != 0 || (equals[1 + n] && equals[1 + n] != ':')) continue;
        if (!cli_find_file(run, csv, path, file, sizeof file)) return 0;
        snprintf(found, size, "%.*s%s%s", (int)(equals + 1 - setting), setting, file,
                 equals + 1 + n);
        return 1;
    }
    return 0;
}
