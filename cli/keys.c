/* The keys of a problem in JSON: a key that nothing reads, or a second one of the same name, is a
 * mistake. */

#include "cli.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 16 };

static const struct {
    const char *kind, *key[MOST];
} kinds[] = {
    {"lcp", {"M", "q", "n", "free", "lower", "upper"}},
    {"mlcp", {"M", "q", "n", "free", "lower", "upper"}},
    {"ncp", {"F", "n", "start", "lower", "upper"}},
    {"mpcc", {"objective", "G", "H", "n", "constraints"}},
    {"fc", {"dimension", "contacts", "blocks", "W", "q", "mu"}},
};
/* What stored problems say of themselves. */
static const char *const everywhere[] = {"name",         "kind",         "comment",   "source",
                                         "notes",        "solution",     "solutions", "rays",
                                         "matrix_class", "solution_set", "w_unique"};

int cli_check_keys(const void *json, const char *kind, const char *where)
{
    const cJSON *item, *before;
    const char *known[2 * MOST];
    int n = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (int i = 0; strcmp(kinds[k].kind, kind) == 0 && i < MOST && kinds[k].key[i]; i++)
            known[n++] = kinds[k].key[i];
    }
    for (int i = 0; (size_t)i < sizeof everywhere / sizeof *everywhere; i++)
        known[n++] = everywhere[i];
    cJSON_ArrayForEach(item, (const cJSON *)json)
    {
        if (!item->string) continue;
        int found = 0;
        for (int i = 0; i < n; i++) found |= strcmp(known[i], item->string) == 0;
        if (!found) {
            char text[512];
            cli_say("%s: kind %s: %s\n", where, kind,
                    perp_unknown_word("key", item->string, known, n, NULL, text, sizeof text));
            return CLI_BAD_INPUT;
        }
        for (before = ((const cJSON *)json)->child; before != item; before = before->next) {
            if (strcmp(before->string, item->string) != 0) continue;
            cli_say("%s: the key \"%s\" is there twice\n", where, item->string);
            return CLI_BAD_INPUT;
        }
    }
    return CLI_DONE;
}
