#include "library_use.h"

#include "cli.h"
#include "unit.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 100 };

typedef struct definition {
    const char *name, *body; /* the body begins with the name */
    size_t length, end;
    int is_used;
} definition;

static int is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Does the word stand in the first n bytes of the text, outside of comments and not behind a dot? */
static int has_word(const char *text, size_t n, const char *word, size_t length)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '#') {
            while (i < n && text[i] != '\n') i++;
        } else if ((i == 0 || (!is_letter(text[i - 1]) && text[i - 1] != '.')) && i + length <= n &&
                   strncmp(text + i, word, length) == 0 && !is_letter(text[i + length])) {
            return 1;
        }
    }
    return 0;
}

/* What begins with `part` or `function` at the beginning of a line; it ends where the next begins. */
static int find_definitions(const char *library, definition *d)
{
    int n = 0;
    for (const char *at = library; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        size_t word = strncmp(at, "part ", 5) == 0 ? 5 : strncmp(at, "function ", 9) == 0 ? 9 : 0;
        if (!word) continue;
        assert_true(n < MOST);
        if (n > 0) d[n - 1].end = (size_t)(at - d[n - 1].body);
        d[n] = (definition){.name = at + word, .body = at + word, .end = strlen(at + word)};
        while (is_letter(d[n].name[d[n].length])) d[n].length++;
        n++;
    }
    return n;
}

char *unused_of(const char *library, char *const *text, int n)
{
    definition d[MOST];
    int count = find_definitions(library, d), more = 1;
    char *names = calloc(strlen(library) + 1, 1);
    assert_non_null(names);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < n; k++)
            d[i].is_used |= has_word(text[k], strlen(text[k]), d[i].name, d[i].length);
    while (more) {
        more = 0;
        for (int i = 0; i < count; i++)
            for (int k = 0; k < count && !d[i].is_used; k++)
                if (d[k].is_used && has_word(d[k].body, d[k].end, d[i].name, d[i].length))
                    d[i].is_used = more = 1;
    }
    for (int i = 0; i < count; i++) {
        if (d[i].is_used) continue;
        strncat(names, d[i].name, d[i].length);
        strcat(names, " ");
    }
    return names;
}

static char **add(char **list, int *n, const char *library, const char *text, size_t length)
{
    char use[100];
    snprintf(use, sizeof use, "use \"%s\"", library);
    char *copy = strndup(text, length);
    list = realloc(list, ((size_t)*n + 1) * sizeof *list);
    assert_true(copy && list);
    if (strstr(copy, use))
        list[(*n)++] = copy;
    else
        free(copy);
    return list;
}

char **add_models_using(char **list, int *n, const char *library, const char *pattern)
{
    char path[1024];
    glob_t found;
    snprintf(path, sizeof path, "%s/%s", PERP_SOURCE_DIR, pattern);
    assert_int_equal(glob(path, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *text = cli_read(found.gl_pathv[i]), *at = text;
        int is_document = strstr(pattern, ".md") != NULL;
        if (!is_document) list = add(list, n, library, text, strlen(text));
        while (is_document && (at = strstr(at, "```perp\n")) != NULL) {
            char *end = strstr(at, "\n```");
            assert_non_null(end);
            list = add(list, n, library, at, (size_t)(end - at));
            at = end + 4;
        }
        free(text);
    }
    globfree(&found);
    return list;
}
