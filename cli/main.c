/* perp: the command. Finds the subcommand and hands over. */

#define _XOPEN_SOURCE 700 /* sigaltstack */

#include "cli.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
#define PERP_COMMAND(name, summary) {#name, summary, perp__cmd_##name},
#include "commands.def"
#undef PERP_COMMAND
};

enum { NCOMMAND = sizeof commands / sizeof *commands };

static void print_help(FILE *out)
{
    fprintf(out,
            "perp %s - unilateral contact and Coulomb friction as complementarity: 0 <= lambda "
            "perp gap >= 0\n\n",
            perp_version());
    fprintf(out, "usage: perp COMMAND [options]\n\n");
    for (int i = 0; i < NCOMMAND; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n  perp COMMAND --help says more; perp --version names the build, "
                 "with --verbose also the files that it loads.\n\n"
                 "exit codes: 0 done, 1 usage, 2 bad model or data, 3 no verified solution, 4 file "
                 "or memory, 130 interrupted\n");
}

/* Closed standard streams become /dev/null, in the wrong direction, so using them is an error.
 * Otherwise a file opened later would take their number and receive printed text. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd) _exit(4);
    }
}

/* The exit code, after all that was printed has arrived. Without memory for a part of the work
 * nothing else is true of it. */
static int finish(int code)
{
    if (cli_is_out_of_memory()) {
        fprintf(stderr, "perp: %s\n", perp_status_message(PERP_ERR_MEMORY));
        code = CLI_FILE;
    }
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    if (code != CLI_FILE)
        fprintf(stderr, "perp: standard output: cannot be written%s%s\n", errno ? ": " : "",
                errno ? strerror(errno) : ""); /* an earlier flush may have had the reason */
    return code == CLI_DONE ? CLI_FILE : code;
}

/* IPOPT, MUMPS, BLAS and similar libraries end the process when memory is out: by abort, by exit,
 * by a bad address. This becomes exit 4 with a message, and no unfinished output is printed or
 * renamed. An end of our own stays unchanged. */
static void end_inside_library(void)
{
    static const char *const word[] = {"perp: ", NULL,
                                       " ended the program, as it does where memory is out\n"};
    const char *name = perp_library_running();
    if (!name) return;
    for (int i = 0; i < 3; i++) {
        const char *text = word[i] ? word[i] : name;
        if (write(2, text, strlen(text)) < 0) break;
    }
    _exit(CLI_FILE);
}

static const int ends[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { NEND = sizeof ends / sizeof *ends };
static struct sigaction before[NEND]; /* of a sanitizer */

static void on_end(int signal_number)
{
    end_inside_library();
    for (int i = 0; i < NEND; i++) sigaction(ends[i], &before[i], NULL);
    raise(signal_number);
}

static void catch_ends_inside_libraries(void)
{
    static char room[1 << 16]; /* where the stack itself has none left */
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_end, .sa_flags = SA_ONSTACK};
    for (int i = 0; i < NEND; i++) sigaction(ends[i], &action, &before[i]);
    atexit(end_inside_library);
}

static int is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* The version; and where each file is that would be loaded when it is needed. */
static int print_version(int is_verbose)
{
    char name[256], path[4096];
    printf("perp %s\n", perp_version());
    for (int i = 0;
         is_verbose && perp_library_file(i, name, sizeof name, path, sizeof path) == PERP_OK; i++)
        printf("  %-24s %s\n", name, *path ? path : "not found");
    return CLI_DONE;
}

static int run(int argc, char **argv)
{
    static char help[] = "--help";
    const char *word = argc > 1 ? argv[1] : "--help";
    int asks_help = is_help(word);
    int asks_version = strcmp(word, "--version") == 0 || strcmp(word, "-v") == 0;
    int is_verbose = asks_version && argc > 2 && strcmp(argv[2], "--verbose") == 0;
    int most = argc;
    if (asks_version)
        most = 2 + is_verbose;
    else if (asks_help)
        most = 3;
    if (argc > most) {
        fprintf(stderr, "perp: '%s' after '%s' has no meaning\n", argv[most], argv[most - 1]);
        return CLI_USAGE;
    }
    if (cli_is_ampl(argc, argv)) return cli_ampl(argc, argv);
    if (asks_version) return print_version(is_verbose);
    if (asks_help && (argc < 3 || is_help(argv[2]))) {
        print_help(argc > 1 ? stdout : stderr);
        return argc > 1 ? CLI_DONE : CLI_USAGE;
    }
    if (asks_help) {
        word = argv[2];
        argv[1] = argv[2];
        argv[2] = help;
        argc = 3;
    }
    const char *names[NCOMMAND];
    for (int i = 0; i < NCOMMAND; i++) {
        names[i] = commands[i].name;
        if (strcmp(word, commands[i].name) != 0) continue;
        int code = commands[i].run(argc - 1, argv + 1);
        return code == CLI_HELPED ? CLI_DONE : code;
    }
    char text[256];
    fprintf(stderr, "perp: %s\n",
            perp_unknown_word("command", word, names, NCOMMAND, "perp --help", text, sizeof text));
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    catch_ends_inside_libraries();
    cli_clean_up_on_signals();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow further is an error of writing */
    return finish(run(argc, argv));
}
