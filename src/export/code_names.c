/* Names of a model as names of C: letters and digits of ASCII, everything else an underscore. */

#include "export/code.h"
#include "export/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int is_of_name(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9');
}

void perp__identifier(char *identifier, size_t room, const char *name)
{
    size_t n = 0;
    if (!is_letter(name[0])) identifier[n++] = 'm';
    for (; *name && n + 1 < room; name++) identifier[n++] = is_of_name(*name) ? *name : '_';
    identifier[n] = 0;
}

/* "train[2].x" as train_2_x: no underscore at the end, none twice where the name has none. */
static size_t write_name(char *to, const char *name)
{
    size_t n = 0;
    for (const char *p = name; *p; p++) {
        int is_own = is_of_name(*p) || *p == '_';
        if (is_own)
            to[n++] = *p;
        else if (n > 0 && is_of_name(to[n - 1]) && p[1])
            to[n++] = '_';
    }
    if (n == 0) to[n++] = '_';
    to[n] = 0;
    return n;
}

static int is_taken(const char *names, const char *end, const char *name)
{
    while (names < end && strcmp(names, name) != 0) names += strlen(names) + 1;
    return names < end;
}

char *perp__code_names(const char *const *name, int n)
{
    enum { NUMBER = 16 };
    size_t room = 1;
    for (int i = 0; i < n; i++) room += strlen(name[i]) + 2 + NUMBER;
    char *names = malloc(room), *end = names;
    for (int i = 0; names && i < n; i++) {
        size_t length = write_name(end, name[i]);
        for (int k = 2; is_taken(names, end, end); k++) snprintf(end + length, NUMBER, "_%d", k);
        end += strlen(end) + 1;
    }
    return names;
}
