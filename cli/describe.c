/* The commands and their options, for others to read: completion in shells, manual pages.
 * Everything is in the tables by which command lines are read. */

#include "cli.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *summary;
    const cli_command *command;
} entries[] = {
#define PERP_COMMAND(name, summary) {#name, summary, &cli_command_##name},
#include "commands.def"
#undef PERP_COMMAND
};

enum { ENTRIES = sizeof entries / sizeof *entries };

/* Print text with strings in place of some characters; NULL leaves one as it is. */
static void print_escaped(const char *text, const char *const escape[128])
{
    for (; *text; text++) {
        int c = (unsigned char)*text;
        if (c < 128 && escape[c])
            printf("%s", escape[c]);
        else
            putchar(c);
    }
}

static const char *dashes(const cli_option *o)
{
    return strlen(o->name) > 1 ? "--" : "-";
}

/* Is such a value the name of a file: OUT.csv, FILE|FOLDER, NAME=FILE[:COLUMN]? */
static int is_file(const cli_option *o)
{
    return !o->words &&
           (strstr(o->value, "FILE") || strstr(o->value, ".csv") || strstr(o->value, ".html") ||
            strstr(o->value, ".json") || strstr(o->value, ".svg") || strstr(o->value, ".perp"));
}

static void print_words(const char *const *words)
{
    for (int k = 0; words[k]; k++) printf("%s%s", k ? " " : "", words[k]);
}

static void print_names(void)
{
    for (int i = 0; i < ENTRIES; i++) printf("%s%s", i ? " " : "", entries[i].name);
}

/* The next option of a command that is not its operand; k is -1 before the first. NULL: no more. */
static const cli_option *next_option(const cli_command *c, int *k)
{
    const cli_option *o;
    while ((o = cli_option_of(c, ++*k)) && !o->name[0]) continue;
    return o;
}

/* The words that an operand may be. NULL: it is a file, or there is none. */
static const char *const *operands(const cli_command *c)
{
    for (int k = 0; k < c->noptions; k++)
        if (!c->options[k].name[0] && c->options[k].words) return c->options[k].words;
    return NULL;
}

/* Shells -------------------------------------------------------------------------------------- */

static void print_bash_values(const cli_command *c)
{
    const cli_option *o;
    for (int k = -1; (o = next_option(c, &k));) {
        if (!o->value || is_file(o)) continue;
        printf("    '%s %s%s') compopt +o default; words='", c->name, dashes(o), o->name);
        if (o->words) print_words(o->words);
        printf("' ;;\n");
    }
    if (!operands(c)) return;
    printf("    '%s %s') compopt +o default; words='", c->name, c->name);
    print_words(operands(c));
    printf("' ;;\n");
}

static void print_bash_options(const cli_command *c)
{
    const cli_option *o;
    printf("        '%s -'*) words='", c->name);
    for (int k = -1; (o = next_option(c, &k));) printf("%s%s ", dashes(o), o->name);
    printf("--help' ;;\n");
}

static void print_bash(void)
{
    printf("# bash completion of perp\n"
           "_perp() {\n"
           "    local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    local command=${COMP_WORDS[1]} words=\n"
           "    [ \"$COMP_CWORD\" -gt 1 ] || command=\n"
           "    case \"$command $before\" in\n"
           "    ' '*) compopt +o default; words='");
    print_names();
    printf(" help --help --version' ;;\n    'help help') words='");
    print_names();
    printf("' ;;\n");
    for (int i = 0; i < ENTRIES; i++) print_bash_values(entries[i].command);
    printf("    *)\n        case \"$command $now\" in\n");
    for (int i = 0; i < ENTRIES; i++) print_bash_options(entries[i].command);
    printf("        esac ;;\n"
           "    esac\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$now\"))\n"
           "}\n"
           "complete -o default -F _perp perp\n");
}

static void print_zsh_text(const char *text)
{
    static const char *const escape[128] = {
        ['\''] = "'\\''", ['['] = "\\[", [']'] = "\\]", [':'] = "\\:", ['\n'] = " "};
    print_escaped(text, escape);
}

static void print_zsh_command(const cli_command *c)
{
    const cli_option *o;
    printf("    %s)\n        _arguments '--help[this text]'", c->name);
    for (int k = -1; (o = next_option(c, &k));) {
        printf(" \\\n            '%s%s%s[", o->type == CLI_LIST ? "*" : "", dashes(o), o->name);
        print_zsh_text(o->help);
        printf("]");
        if (o->value) {
            printf(":");
            print_zsh_text(o->value);
            const char *action = ":";
            if (o->words)
                action = ":(";
            else if (is_file(o))
                action = ":_files";
            fputs(action, stdout);
            if (o->words) print_words(o->words);
            if (o->words) printf(")");
        }
        printf("'");
    }
    printf(" \\\n            '2:");
    if (operands(c)) {
        printf("word:(");
        print_words(operands(c));
        printf(")'");
    } else {
        printf("file:_files' '*:file:_files'");
    }
    printf(" ;;\n");
}

static void print_zsh(void)
{
    printf("#compdef perp\n"
           "_perp() {\n"
           "    local -a commands=(\n");
    for (int i = 0; i < ENTRIES; i++) {
        printf("        '%s:", entries[i].name);
        print_zsh_text(entries[i].summary);
        printf("'\n");
    }
    printf("    )\n"
           "    if (( CURRENT == 2 )); then\n"
           "        _describe command commands\n"
           "        return\n"
           "    fi\n"
           "    case $words[2] in\n");
    for (int i = 0; i < ENTRIES; i++) print_zsh_command(entries[i].command);
    printf("    esac\n"
           "}\n"
           "_perp \"$@\"\n");
}

static void print_fish_text(const char *text)
{
    static const char *const escape[128] = {['\''] = "\\'", ['\\'] = "\\\\", ['\n'] = " "};
    print_escaped(text, escape);
}

static void print_fish_command(const char *summary, const cli_command *c)
{
    const cli_option *o;
    printf("complete -c perp -f -n __fish_use_subcommand -a %s -d '", c->name);
    print_fish_text(summary);
    printf("'\n");
    for (int k = -1; (o = next_option(c, &k));) {
        printf("complete -c perp -n '__fish_seen_subcommand_from %s' -%s %s -d '", c->name,
               strlen(o->name) > 1 ? "l" : "s", o->name);
        print_fish_text(o->help);
        const char *flags = " -x";
        if (!o->value)
            flags = "";
        else if (is_file(o))
            flags = " -r";
        printf("'%s", flags);
        if (o->words) printf(" -a '");
        if (o->words) print_words(o->words);
        printf(o->words ? "'\n" : "\n");
    }
    if (!operands(c)) return;
    printf("complete -c perp -f -n '__fish_seen_subcommand_from %s' -a '", c->name);
    print_words(operands(c));
    printf("'\n");
}

static void print_fish(void)
{
    printf("# fish completion of perp\n"
           "complete -c perp -n __fish_use_subcommand -l version -d 'the build'\n"
           "complete -c perp -l help -d 'what there is'\n");
    for (int i = 0; i < ENTRIES; i++) print_fish_command(entries[i].summary, entries[i].command);
}

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

typedef struct request {
    cli_args args;
    int word;
} request;

static const cli_option completion_options[] = {
    {"", "bash|zsh|fish", NULL, CLI_INTO(request, word), .words = shells, .what = "shell",
     .needed = "for which shell?"},
};

const cli_command cli_command_completion = {
    .name = "completion",
    .usage = "bash|zsh|fish",
    .about = "Print the completion of perp's command line for a shell; make install puts all three "
             "where shells look.\n"
             "For this session: source <(perp completion bash)",
    CLI_OPTIONS(completion_options)};

int perp__cmd_completion(int argc, char **argv)
{
    static void (*const print[])(void) = {print_bash, print_zsh, print_fish};
    request r = {.args = {&cli_command_completion, argc, argv}};
    int code = cli_read(&r.args, &r);
    if (code == CLI_DONE) print[r.word]();
    return code;
}

/* Manual pages -------------------------------------------------------------------------------- */

static void print_roff(const char *text)
{
    static const char *const escape[128] = {['\\'] = "\\e", ['-'] = "\\-"};
    print_escaped(text, escape);
}

/* Paragraphs; what is indented stays as it is. */
static void print_paragraphs(const char *text)
{
    int is_plain = 0;
    while (*text) {
        char line[512];
        size_t n = strcspn(text, "\n");
        int indented = text[0] == ' ';
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        if (indented != is_plain) printf(indented ? ".PP\n.nf\n" : ".fi\n");
        is_plain = indented;
        if (n == 0) printf(".PP\n");
        if (line[0] == '.' || line[0] == '\'') printf("\\&");
        print_roff(line);
        if (n) printf("\n");
        text += n + (text[n] == '\n');
    }
    if (is_plain) printf(".fi\n");
}

static void print_title(const char *name, const char *more, const char *summary)
{
    printf(".TH PERP");
    for (const char *c = more; *c; c++) putchar(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    printf(" 1 \"\" \"perp %s\" \"User Commands\"\n.SH NAME\nperp", perp_version());
    print_roff(more);
    printf(" \\- ");
    print_roff(summary);
    printf("\n.SH SYNOPSIS\n.B perp%s%s\n", name[0] ? " " : "", name);
}

static void print_page(const cli_command *c, const char *summary)
{
    char more[32];
    const cli_option *o;
    snprintf(more, sizeof more, "-%s", c->name);
    print_title(c->name, more, summary);
    print_roff(c->usage);
    printf("\n.SH DESCRIPTION\n");
    print_paragraphs(c->about);
    printf(".SH OPTIONS\n");
    for (int k = -1; (o = next_option(c, &k));) {
        printf(".TP\n.B ");
        print_roff(dashes(o));
        print_roff(o->name);
        if (o->value) printf(" \\fI");
        if (o->value) print_roff(o->value);
        printf("\\fR\n");
        print_roff(o->help);
        printf("\n");
    }
    printf(".TP\n.B \\-\\-help\nwhat is above\n");
    if (c->list) {
        printf(".PP\n.nf\n");
        c->list();
        printf(".fi\n");
    }
    if (c->notes) printf(".SH NOTES\n");
    if (c->notes) print_paragraphs(c->notes);
    printf(".SH SEE ALSO\n.BR perp (1)\n");
}

static void print_first_page(void)
{
    print_title("", "", "unilateral contact and Coulomb friction as complementarity");
    printf(".I COMMAND\n[options]\n.SH DESCRIPTION\n"
           "A model is written in a small language, once; the commands step it through time, plan "
           "with it, and find its\n"
           "parameters. Every answer is verified against the conditions as they were written.\n"
           ".SH COMMANDS\n");
    for (int i = 0; i < ENTRIES; i++) {
        printf(".TP\n.B %s\n", entries[i].name);
        print_roff(entries[i].summary);
        printf("\n");
    }
    printf(".SH EXIT STATUS\n0 done, 1 usage, 2 bad model or data, 3 no verified solution, 4 file "
           "or memory, 130 interrupted\n"
           ".SH SEE ALSO\n");
    for (int i = 0; i < ENTRIES; i++)
        printf(".BR perp\\-%s (1)%s\n", entries[i].name, i < ENTRIES - 1 ? "," : "");
}

static const char *const pages[ENTRIES + 1] = {
#define PERP_COMMAND(name, summary) #name,
#include "commands.def"
#undef PERP_COMMAND
};

static const cli_option man_options[] = {
    {"", "COMMAND", NULL, CLI_INTO(request, word), .words = pages, .what = "command"},
};

const cli_command cli_command_man = {
    .name = "man",
    .usage = "[COMMAND]",
    .about = "Print the manual page of a command, or of perp: perp man plan | man -l -\n"
             "make install puts the pages where man looks.",
    CLI_OPTIONS(man_options)};

int perp__cmd_man(int argc, char **argv)
{
    request r = {.args = {&cli_command_man, argc, argv}, .word = -1};
    int code = cli_read(&r.args, &r);
    if (code == CLI_DONE && r.word < 0) print_first_page();
    if (code == CLI_DONE && r.word >= 0)
        print_page(entries[r.word].command, entries[r.word].summary);
    return code;
}
