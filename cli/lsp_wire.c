/* Messages of the language server: a header with the length of what follows, and JSON. */

#include "json.h"
#include "lsp.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 1 << 16, LONGEST_LINE = 4096, MOST_BYTES = 1 << 27 };

static struct {
    char byte[ROOM];
    size_t at, n;
    int is_over;
} in;

static int next_byte(void)
{
    while (in.at == in.n && !in.is_over) {
        ssize_t n = read(0, in.byte, sizeof in.byte);
        if (n < 0 && errno == EINTR) continue;
        in.at = 0;
        in.n = n > 0 ? (size_t)n : 0;
        in.is_over = n <= 0;
    }
    return in.at < in.n ? (unsigned char)in.byte[in.at++] : -1;
}

int lsp_is_idle(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    return in.at == in.n && !in.is_over && poll(&input, 1, 0) == 0;
}

/* A line of the header without its end, cut if it is too long; -1 at the end of the input. */
static int read_line(char *line, int *is_cut)
{
    int n = 0, c;
    *is_cut = 0;
    while ((c = next_byte()) >= 0 && c != '\n') {
        if (n < LONGEST_LINE)
            line[n++] = (char)c;
        else
            *is_cut = 1;
    }
    if (n > 0 && line[n - 1] == '\r') n--;
    line[n] = 0;
    return c < 0 && n == 0 ? -1 : n;
}

/* The number behind the last "Content-Length:" of the line, which may stand behind the remains of
 * another message; -1: none. */
static double length_in(const char *line)
{
    static const char name[] = "content-length:";
    double length = -1;
    for (const char *s = line; *s; s++) {
        size_t k = 0;
        while (name[k] && (s[k] | 32) == (name[k] | 32)) k++;
        if (name[k]) continue;
        s += k;
        while (*s == ' ') s++;
        length = *s >= '0' && *s <= '9' ? 0 : -1;
        for (; *s >= '0' && *s <= '9'; s++) length = 10 * length + (*s - '0');
        if (*s) length = -1;
        s--;
    }
    return length;
}

static char *read_body(double length, int *error)
{
    int is_too_long = length > MOST_BYTES;
    char *body = is_too_long ? NULL : malloc((size_t)length + 1);
    size_t n = 0;
    for (double i = 0; i < length; i++) {
        int c = next_byte();
        if (c < 0) break;
        if (body) body[n++] = (char)c;
    }
    if (!body && is_too_long) body = calloc(1, 1);
    if (is_too_long) *error = LSP_INVALID;
    if (!body)
        cli_exit_code(PERP_ERR_MEMORY);
    else
        body[n] = 0;
    if (body && !is_too_long && memchr(body, 0, n)) *error = LSP_PARSE;
    return body;
}

char *lsp_read(int *error)
{
    char line[LONGEST_LINE + 1];
    double length = -1;
    int n, is_cut, is_wrong = 0;
    *error = 0;
    while ((n = read_line(line, &is_cut)) >= 0) {
        double said = length_in(line);
        if (said >= 0) length = said;
        is_wrong |= is_cut || (n > 0 && said < 0 && !strchr(line, ':'));
        if (n > 0) continue;
        if (length >= 0) return read_body(length, error);
        if (is_wrong) break; /* a header without a length; blank lines alone are nothing */
    }
    if (n < 0) return NULL;
    *error = LSP_PARSE;
    return calloc(1, 1);
}

void lsp_write(cJSON *message)
{
    cJSON_AddStringToObject(message, "jsonrpc", "2.0");
    char *text = cli_json_print(message, 1);
    if (text) {
        printf("Content-Length: %zu\r\n\r\n%s", strlen(text), text);
        fflush(stdout);
    } else {
        cli_exit_code(PERP_ERR_MEMORY);
    }
    free(text);
    cJSON_Delete(message);
}
