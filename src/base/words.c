/* The lists are short and searched from the first word on. The nearest word is the one at the least
 * edit distance. */

#include "base/words.h"

#include <stdio.h>
#include <string.h>

int perp__word_find(const perp__words *words, const char *word)
{
    int k = 0;
    while (k < words->n && (!word || strcmp(words->row[k].word, word) != 0)) k++;
    return k;
}

const char *perp__word_name(const perp__words *words, int value)
{
    return value >= 0 && value < words->n ? words->row[value].word : "unknown";
}

const char *perp__word_summary(const perp__words *words, int value)
{
    return value >= 0 && value < words->n ? words->row[value].summary : "";
}

/* Unknown words ------------------------------------------------------------------------------- */

/* Edit distance (insert, delete, replace, swap of neighbours) of two short names. */
static int distance(const char *a, const char *b)
{
    enum { MAX = 64 };
    int na = (int)strlen(a), nb = (int)strlen(b);
    if (na >= MAX || nb >= MAX) return MAX;
    int row[3][MAX + 1];
    for (int j = 0; j <= nb; j++) row[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            int best = up[j - 1] + (a[i - 1] != b[j - 1]);
            if (up[j] + 1 < best) best = up[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[na % 3][nb];
}

static int begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

const char *perp_nearest(const char *word, const char *const *words, int n)
{
    const char *nearest = NULL;
    int limit = (int)strlen(word) / 3 + 1, best = limit > 3 ? 4 : limit + 1;
    for (int i = 0; i < n; i++) {
        int d = distance(word, words[i]),
            completes = begins_with(words[i], word) && nearest && !begins_with(nearest, word);
        int is_better = d < best || (d == best && completes); /* mu1 for mu, not m1 */
        if (is_better && d < (int)strlen(words[i])) {
            best = d;
            nearest = words[i];
        }
    }
    return nearest;
}

/* Put pieces of text, the last NULL, behind what is there, as far as there is room. */
static void append(char *text, size_t size, const char *const *piece)
{
    for (size_t n = strlen(text); *piece; piece++, n = strlen(text))
        snprintf(text + n, size - n, "%s", *piece);
}

const char *perp_unknown_word(const char *what, const char *word, const char *const *words, int n,
                              const char *see, char *text, size_t size)
{
    const char *near = word ? perp_nearest(word, words, n) : NULL;
    if (near && strcmp(near, word) == 0) near = NULL; /* known, but not what it is needed for */
    if (!size) return text;
    text[0] = 0;
    append(text, size, (const char *[]){"unknown ", what, NULL});
    if (word) append(text, size, (const char *[]){" '", word, "'", NULL});
    if (near) append(text, size, (const char *[]){"; did you mean '", near, "'?", NULL});
    if (see && see[0]) append(text, size, (const char *[]){near ? " See " : "; see ", see, NULL});
    if (!see) append(text, size, (const char *[]){near ? " There are:" : "; there are:", NULL});
    for (int k = 0; k < n && !see; k++) append(text, size, (const char *[]){" ", words[k], NULL});
    return text;
}

perp_status perp__refuse_word(perp_diag *diag, perp_status status, perp__place place,
                              const char *what, const char *word, const perp__words *words)
{
    enum { MOST = 32 };
    const char *known[MOST];
    char text[1024];
    for (int k = 0; k < words->n && k < MOST; k++) known[k] = words->row[k].word;
    if (perp__word_find(words, word) < words->n) word = NULL;
    perp_unknown_word(what, word, known, words->n < MOST ? words->n : MOST, NULL, text,
                      sizeof text);
    return perp__refuse(diag, status, place, "%s\n", text);
}
