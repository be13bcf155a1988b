/* Hashed with FNV-1a; a name is at its place or the next free one. */

#include "base/names.h"

#include "base/hash.h"
#include "base/memory.h"

#include <limits.h>
#include <stdlib.h>

/* FNV-1a; the last step brings the upper bits, which are mixed best, down to where the place is
 * read. */
static unsigned hash(const char *text)
{
    uint64_t h = PERP__HASH_OF_NOTHING;
    for (; *text; text++) h = perp__hash_byte(h, (unsigned char)*text);
    return (unsigned)(h ^ h >> 32);
}

/* Where the name of this hash is, or would be: the next free place behind its own. */
static perp__name *place_of(const perp__names *names, const char *text, unsigned h)
{
    size_t last = (size_t)names->size - 1, i = h & last;
    const perp__name *place = names->place;
    while (place[i].text && (place[i].hash != h || !perp__is_word(place[i].text, text)))
        i = (i + 1) & last;
    return &names->place[i];
}

static int enlarge(perp__names *names)
{
    if (names->size > INT_MAX / 2) return 0;
    perp__names larger = {.size = names->size ? 2 * names->size : 64, .count = names->count};
    larger.place = calloc((size_t)larger.size, sizeof *larger.place);
    if (!larger.place) return 0;
    for (int i = 0; i < names->size; i++) {
        const perp__name *name = &names->place[i];
        size_t k = name->hash & (size_t)(larger.size - 1);
        if (!name->text) continue;
        while (larger.place[k].text) k = (k + 1) & (size_t)(larger.size - 1);
        larger.place[k] = *name;
    }
    free(names->place);
    *names = larger;
    return 1;
}

int perp__names_add(perp__names *names, const char *text, int value)
{
    if (names->count >= names->size / 2 && !enlarge(names)) return 0;
    unsigned h = hash(text);
    *place_of(names, text, h) = (perp__name){text, value, h};
    names->count++;
    return 1;
}

int perp__names_find(const perp__names *names, const char *text)
{
    const perp__name *place = names->count ? place_of(names, text, hash(text)) : NULL;
    return place && place->text ? place->value : -1;
}

int perp__names_match(const char *pattern, const char *name)
{
    for (; *pattern && *pattern != '*'; pattern++, name++)
        if (*pattern != *name) return 0;
    if (!*pattern) return !*name;
    for (;; name++) {
        if (perp__names_match(pattern + 1, name)) return 1;
        if (!*name) return 0;
    }
}

void perp__names_clear(perp__names *names)
{
    free(names->place);
    *names = (perp__names){0};
}
