/* Running the perp executable as a user would. */

#ifndef PERP_TEST_CLI_H
#define PERP_TEST_CLI_H

typedef struct cli_result {
    int code;        /* exit code */
    char *out, *err; /* what it printed */
} cli_result;

/* Run `perp ARGUMENTS` through the shell, from the source directory. PERP is the executable: "PERP
 * simulate x | head". */
cli_result cli_run(const char *arguments, ...);
void cli_free(cli_result *result);

/* The same, where all that matters is the exit code and, unless NULL, words on standard output and on
 * standard error; fails the test with what came. */
void cli_expect(int code, const char *out, const char *err, const char *arguments, ...);

/* A fresh folder for the test's files; removed by the build, not by the test. */
const char *cli_folder(void);

/* Write a file in that folder and return its path (static storage, a few at a time). */
const char *cli_file(const char *name, const char *text);
const char *cli_path(const char *name);

/* The whole file; the caller frees. */
char *cli_read(const char *path);

#endif
