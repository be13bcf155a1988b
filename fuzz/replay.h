/* Without libFuzzer: run the harness on every file that is named, as the tests do with the corpora. Included last. */

#ifndef PERP_LIBFUZZER

#include <stdio.h>
#include <stdlib.h>

enum { MOST_BYTES = 1 << 20 };

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        uint8_t *data = malloc(MOST_BYTES);
        if (!file || !data) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
        size_t size = fread(data, 1, MOST_BYTES, file);
        fclose(file);
        LLVMFuzzerTestOneInput(data, size);
        free(data);
    }
    printf("ok: %d inputs\n", argc - 1);
    return 0;
}

#endif
