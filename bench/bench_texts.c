/* build/bench_texts: how quickly models are read, and tables written and read: MB a second of CPU time, the least and the median of
 * ten. */

#include "perp/perp.h"
#include "timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 10, MOST = 8 << 20, COLUMNS = 5, ROWS = 1000000 };

static void stop(const perp_diag *diag)
{
    fprintf(stderr, "bench_texts: %s\n", perp_diag_text(diag));
    exit(2);
}

static void print(const char *what, size_t bytes, times *t)
{
    double mb = 1e-6 * (double)bytes;
    printf("%-42s %8.2f MB %10.4g ms %10.4g MB/s   median %10.4g MB/s\n", what, mb,
           1e3 * times_least(t), mb / times_least(t), mb / times_median(t));
}

/* Bodies with names of their own. */
static size_t write_bodies(char *to, int n)
{
    char *end = to + sprintf(to, "model bodies\n");
    for (int i = 0; i < n; i++) end += sprintf(end, "param k_%d = %d.5 \"1/s\"\n", i, 1 + i % 7);
    for (int i = 0; i < n; i++) end += sprintf(end, "state x_%d = 0.%d\nvar f_%d\n", i, i, i);
    for (int i = 0; i < n; i++)
        end += sprintf(end, "der(x_%d) = -k_%d*(x_%d - x_%d) + f_%d\n0 <= f_%d perp x_%d >= 0\n", i,
                       i, i, (i + 1) % n, i, i, i);
    return (size_t)(end - to);
}

static size_t write_functions(char *to, int n)
{
    char *end = to + sprintf(to, "model functions\nstate x = 1\nder(x) = -f7(x)\n");
    for (int i = 0; i < n; i++) end += sprintf(end, "function f%d(x) = x + %d\n", i, i);
    return (size_t)(end - to);
}

static size_t write_chain(char *to, int n)
{
    return (size_t)sprintf(
        to,
        "model chain\nparam n = %d, k = 1000\nstate x[n] = 0, v[n] = 2\nvar f[n]\n"
        "der(x) = v\nder(v[1]) = -k*(x[1] - x[2]) + f[1]\n"
        "for i in 2..n - 1 { der(v[i]) = k*(x[i-1] - 2*x[i] + x[i+1]) + f[i] }\n"
        "der(v[n]) = k*(x[n-1] - x[n]) + f[n]\n-3 <= f <= 3 perp v\n",
        n);
}

static void bench_model(const char *what, size_t (*write)(char *to, int n), int n)
{
    char *text = malloc(MOST);
    perp_diag diag = {0};
    times t = {0};
    if (!text) exit(2);
    size_t bytes = write(text, n);
    for (int round = 0; round < ROUNDS; round++) {
        perp_model *model;
        double start = cpu_now();
        if (perp_model_parse(text, bytes, what, &model, &diag) != PERP_OK) stop(&diag);
        times_add(&t, cpu_now() - start);
        perp_model_destroy(model);
    }
    print(what, bytes, &t);
    free(text);
}

static void bench_table(const char *path, const char *what)
{
    static const char *const names[COLUMNS] = {"t", "x", "v", "f", "residual"};
    double(*value)[COLUMNS] = malloc(ROWS * sizeof *value);
    unsigned long long s = 1;
    perp_diag diag = {0};
    times written = {0}, read = {0};
    if (!value) exit(2);
    for (int i = 0; i < ROWS; i++) {
        for (int c = 0; c < COLUMNS; c++) {
            s = s * 6364136223846793005u + 1442695040888963407u;
            value[i][c] = c == 0 ? 1e-3 * i : ldexp((double)(s >> 11), -53 - 12 * c);
        }
    }
    long bytes = 0;
    for (int round = 0; round < ROUNDS; round++) {
        perp_trajectory_writer *w;
        perp_trajectory *table;
        double start = cpu_now();
        if (perp_trajectory_writer_create(path, &w, &diag) != PERP_OK) stop(&diag);
        perp_trajectory_writer_header(w, COLUMNS, names, NULL);
        for (int i = 0; i < ROWS; i++) perp_trajectory_writer_row(w, value[i]);
        if (perp_trajectory_writer_close(w, NULL, &diag) != PERP_OK) stop(&diag);
        times_add(&written, cpu_now() - start);
        start = cpu_now();
        if (perp_trajectory_read(path, &table, &diag) != PERP_OK) stop(&diag);
        times_add(&read, cpu_now() - start);
        perp_trajectory_destroy(table);
    }
    FILE *file = fopen(path, "r");
    if (!file || fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) < 0) exit(2);
    fclose(file);
    remove(path);
    print(what, (size_t)bytes, &written);
    print("the same, read", (size_t)bytes, &read);
    free(value);
}

int main(void)
{
    bench_model("bodies with names, read", write_bodies, 8000);
    bench_model("functions, read", write_functions, 30000);
    bench_model("functions, seven times as many, read", write_functions, 210000);
    bench_model("chain of 1000, read", write_chain, 1000);
    bench_model("chain of 10000, read", write_chain, 10000);
    bench_table("bench_texts.csv", "a table of 5 columns, written");
    bench_table("bench_texts" PERP_BINARY_SUFFIX, "the same as numbers, written");
    return 0;
}
