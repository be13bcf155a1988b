/* Without libFuzzer: run the harness on every file that is named, as the tests do with the corpora; with --vary N also on N copies of each that are
 * cut or changed in a few bytes at random. Included last. */

#ifndef PERP_LIBFUZZER

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_BYTES = 1 << 20, MOST_SECONDS = 10 };

static uint64_t draw(void)
{
    static uint64_t state = 20261129;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

/* A harness may write behind no input: the copy ends where the memory does. */
static void run_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + !size);
    clock_t begun = clock();
    if (!copy) abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    if (clock() - begun > (clock_t)MOST_SECONDS * CLOCKS_PER_SEC) {
        fprintf(stderr, "an input took more than %d s of the processor\n", MOST_SECONDS);
        abort();
    }
}

static void run_varied(uint8_t *data, size_t size)
{
    uint64_t kind = draw() % 4;
    if (kind == 0 || size == 0) {
        run_copy(data, size ? draw() % size : 0);
        return;
    }
    size_t at[4], n = 1 + draw() % 4;
    uint8_t was[4];
    for (size_t i = 0; i < n; i++) {
        at[i] = draw() % size, was[i] = data[at[i]];
        uint64_t byte = kind == 1   ? was[i] ^ (1u << draw() % 8)
                        : kind == 2 ? draw()
                                    : data[draw() % size];
        data[at[i]] = (uint8_t)(byte & 0xff);
    }
    run_copy(data, size);
    while (n-- > 0) data[at[n]] = was[n];
}

int main(int argc, char **argv)
{
    int first = argc > 2 && strcmp(argv[1], "--vary") == 0 ? 3 : 1;
    long varied = first == 3 ? strtol(argv[2], NULL, 10) : 0;
    for (int i = first; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        uint8_t *data = malloc(MOST_BYTES);
        if (!file || !data) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
        size_t size = fread(data, 1, MOST_BYTES, file);
        fclose(file);
        if (varied == 0) LLVMFuzzerTestOneInput(data, size);
        for (long k = 0; k < varied; k++) run_varied(data, size);
        free(data);
    }
    printf("ok: %ld inputs\n", (argc - first) * (varied > 0 ? varied : 1));
    return 0;
}

#endif
