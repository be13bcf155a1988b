/* Options of the commands from their tables, as options.h says. */

#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const cli_integrators[] = {
#define WORD(name, word, ...) word,
    PERP_INTEGRATOR_LIST(WORD) NULL
#undef WORD
};

/* What every command has ---------------------------------------------------------------------- */

static cli_budget budget;

const cli_option cli_common[CLI_COMMON] = {
    {"timeout", "S", "stop after so many seconds; what is done by then is kept",
     CLI_INTO(cli_budget, seconds), .is_positive = 1},
    {"max-memory", "MB", "take no more address space than this", CLI_INTO(cli_budget, megabytes),
     .is_positive = 1},
};

const cli_option *cli_option_of(const cli_command *c, int k)
{
    if (k < c->noptions) return &c->options[k];
    if (k < c->noptions + CLI_COMMON) return &cli_common[k - c->noptions];
    return NULL;
}

static int is_common(const cli_option *o)
{
    return o >= cli_common && o < cli_common + CLI_COMMON;
}

/* Help ---------------------------------------------------------------------------------------- */

static void print_option(const char *name, const char *value, const char *help)
{
    char left[64];
    snprintf(left, sizeof left, "%s%s%s%s", strlen(name) > 1 ? "--" : "-", name, value ? " " : "",
             value ? value : "");
    printf("  %-28s %s\n", left, help);
}

static int print_help(const cli_command *c)
{
    printf("usage: perp %s%s%s\n\n%s\n", c->name, c->usage[0] ? " " : "", c->usage, c->about);
    if (c->notes) printf("\n");
    const cli_option *o;
    for (int k = 0; c->notes && (o = cli_option_of(c, k)); k++) {
        if (o->name[0]) print_option(o->name, o->value, o->help);
    }
    if (c->notes) print_option("help", NULL, "this text");
    if (c->list) c->list();
    if (c->notes) printf("\n%s\n", c->notes);
    return CLI_HELPED;
}

int cli_ask(const cli_args *args, const char *question)
{
    const cli_command *c = args->command;
    cli_say("perp %s: %s usage: perp %s %s; see perp %s --help\n", c->name, question, c->name,
            c->usage, c->name);
    return CLI_USAGE;
}

/* Words --------------------------------------------------------------------------------------- */

/* The next word of a command line: an option with its value, or the operand. */
typedef struct word {
    int at, only_operands; /* after "--" */
    const cli_option *option;
    const char *value;
} word;

enum { END, TAKE, HELP, BAD };

/* NULL if there is none. "" finds the operand. */
static const cli_option *find_option(const cli_command *c, const char *name, size_t length)
{
    const cli_option *o;
    for (int k = 0; (o = cli_option_of(c, k)); k++) {
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0) return o;
    }
    return NULL;
}

static int unknown_option(const cli_command *c, const char *text)
{
    enum { MOST = 64 };
    char name[MOST][32], see[32], message[256];
    const char *names[MOST] = {"--help"};
    int n = 1;
    const cli_option *o;
    for (int k = 0; n < MOST && (o = cli_option_of(c, k)); k++) {
        if (strlen(o->name) < 2) continue;
        snprintf(name[n], sizeof name[n], "--%s", o->name);
        names[n] = name[n];
        n++;
    }
    snprintf(see, sizeof see, "perp %s --help", c->name);
    cli_say("perp %s: %s\n", c->name,
            perp_unknown_word("option", text, names, n, see, message, sizeof message));
    return BAD;
}

static int take_operand(const cli_command *c, word *w)
{
    w->option = find_option(c, "", 0);
    if (w->option) return TAKE;
    cli_say("perp %s takes no file, but there is '%s'\n", c->name, w->value);
    return BAD;
}

static int is_option(const char *text)
{
    return text[0] == '-' && text[1] != 0 && !(text[1] >= '0' && text[1] <= '9') && text[1] != '.';
}

static int next(const cli_args *args, word *w)
{
    const cli_command *c = args->command;
    if (w->at >= args->argc) return END;
    char *text = args->argv[w->at++];
    w->value = text;
    if (w->only_operands || !is_option(text)) return take_operand(c, w);
    if (strcmp(text, "--") == 0) {
        w->only_operands = 1;
        return next(args, w);
    }
    const char *name = text + (text[1] == '-' ? 2 : 1), *equals = strchr(name, '=');
    if (strcmp(text, "-h") == 0 || strcmp(name, "help") == 0) return HELP;
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    w->option = length ? find_option(c, name, length) : NULL;
    if (!w->option) return unknown_option(c, text);
    if (!w->option->value && equals) {
        cli_say("perp %s: '--%s' takes no value\n", c->name, w->option->name);
        return BAD;
    }
    if (!w->option->value) return TAKE;
    if (equals)
        w->value = equals + 1;
    else if (w->at < args->argc)
        w->value = args->argv[w->at++];
    else
        w->value = NULL;
    if (w->value) return TAKE;
    cli_say("perp %s: '%s' needs a value: %s %s\n", c->name, text, text, w->option->value);
    return BAD;
}

/* Values: 0 after saying what is wrong -------------------------------------------------------- */

static int put_integer(const cli_option *o, void *to, long long n)
{
    int narrow = (int)n;
    if (o->size == sizeof narrow)
        memcpy(to, &narrow, sizeof narrow);
    else
        memcpy(to, &n, sizeof n);
    return 1;
}

static int put_word(const cli_command *c, const cli_option *o, void *to, const char *value)
{
    int n = 0;
    for (; o->words[n]; n++) {
        if (strcmp(o->words[n], value) == 0) return put_integer(o, to, n);
    }
    char text[512];
    cli_say("perp %s: %s\n", c->name,
            perp_unknown_word(o->what ? o->what : o->name, value, o->words, n, NULL, text,
                              sizeof text));
    return 0;
}

static int read_number(const cli_command *c, const cli_option *o, const char *value, double *x)
{
    const char *rest;
    *x = perp_number_read(value, &rest);
    if (value[0] && *rest == 0 && isfinite(*x)) return 1;
    cli_say("perp %s: --%s needs a number, not '%s'\n", c->name, o->name, value);
    return 0;
}

static int put_number(const cli_command *c, const cli_option *o, double *to, const char *value)
{
    double x;
    if (!read_number(c, o, value, &x)) return 0;
    int is_bounded = o->most > 0, is_inside = !is_bounded || (x >= o->least && x <= o->most);
    if (o->is_positive && !(x > 0))
        cli_say("perp %s: --%s must be positive, not %s\n", c->name, o->name, value);
    else if (!is_inside)
        cli_say("perp %s: --%s must be from %g to %g, not %s\n", c->name, o->name, o->least,
                o->most, value);
    else {
        *to = x;
        return 1;
    }
    return 0;
}

static int put_whole(const cli_command *c, const cli_option *o, void *to, const char *value)
{
    double x, most = o->size == sizeof(int) ? 1e9 : 1e15;
    if (o->most > 0) most = o->most;
    if (!read_number(c, o, value, &x)) return 0;
    if (x >= o->least && x <= most && x == floor(x)) return put_integer(o, to, (long long)x);
    cli_say("perp %s: --%s needs a whole number from %g on, not %s", c->name, o->name, o->least,
            value);
    if (x > most) cli_say("; the largest is %g", most);
    cli_say("\n");
    return 0;
}

static int put_text(const cli_command *c, const cli_option *o, const char **to, const char *value)
{
    if (!o->name[0] && *to) {
        cli_say("perp %s: one file at a time: '%s' and '%s'\n", c->name, *to, value);
        return 0;
    }
    *to = o->is_output && cli_is_standard_output(value) ? "-" : value;
    return 1;
}

static int put_item(const cli_args *args, cli_list *list, const char *value)
{
    if (!list->item) list->item = malloc((size_t)args->argc * sizeof *list->item);
    if (list->item)
        list->item[list->n++] = value;
    else
        cli_exit_code(PERP_ERR_MEMORY);
    return list->item != NULL;
}

static int put(const cli_args *args, const cli_option *o, const char *value, void *request)
{
    const cli_command *c = args->command;
    void *to = (is_common(o) ? (char *)&budget : (char *)request) + o->at;
    if (!o->value) return put_integer(o, to, strncmp(o->name, "no-", 3) != 0);
    if (o->words) return put_word(c, o, to, value);
    switch (o->type) {
    case CLI_TEXT: return put_text(c, o, to, value);
    case CLI_LIST: return put_item(args, to, value);
    case CLI_NUMBER: return put_number(c, o, to, value);
    default: return put_whole(c, o, to, value);
    }
}

/* Command lines ------------------------------------------------------------------------------- */

int cli_read(const cli_args *args, void *request)
{
    word w = {.at = 1};
    for (int k; (k = next(args, &w)) != END;) {
        if (k == HELP) return print_help(args->command);
        if (k == BAD || !put(args, w.option, w.value, request)) return CLI_USAGE;
    }
    for (int k = 0; k < args->command->noptions; k++) {
        const cli_option *o = &args->command->options[k];
        if (o->needed && !cli_is_given(args, o->name)) return cli_ask(args, o->needed);
    }
    if (cli_keep_to(&budget)) return CLI_DONE;
    cli_say("perp %s: --max-memory %g: the system sets no such limit\n", args->command->name,
            budget.megabytes);
    return CLI_USAGE;
}

void cli_read_again(const cli_args *args, void *request)
{
    word w = {.at = 1};
    while (next(args, &w) == TAKE) {
        if (w.option->name[0] && w.option->type != CLI_LIST) put(args, w.option, w.value, request);
    }
}

int cli_is_given(const cli_args *args, const char *name)
{
    word w = {.at = 1};
    while (next(args, &w) == TAKE) {
        if (strcmp(w.option->name, name) == 0) return 1;
    }
    return 0;
}
