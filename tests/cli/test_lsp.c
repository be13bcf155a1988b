/* perp lsp: a script of messages in, what comes back out. */

#include "perp/perp.h"
#include "cli.h"
#include "unit.h"

#include <sys/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 16 };

static char script[ROOM];

static void send_raw(const char *bytes)
{
    assert_true(strlen(script) + strlen(bytes) < ROOM);
    strcat(script, bytes);
}

static void send(const char *body)
{
    char header[64];
    snprintf(header, sizeof header, "Content-Length: %zu\r\n\r\n", strlen(body));
    send_raw(header);
    send_raw(body);
}

/* A text as a string of JSON. */
static const char *quoted(const char *text)
{
    static char out[2][4000];
    static int which;
    char *to = out[which = !which];
    for (const char *s = text; *s; s++) {
        if (*s == '"' || *s == '\\') *to++ = '\\';
        *to++ = *s == '\n' ? '\\' : *s;
        if (*s == '\n') *to++ = 'n';
    }
    *to = 0;
    return out[which];
}

static const char *uri_of(const char *name)
{
    static char uri[600];
    snprintf(uri, sizeof uri, "file://%s", cli_path(name));
    return uri;
}

static void begin(void)
{
    script[0] = 0;
    send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}");
    send("{\"jsonrpc\":\"2.0\",\"method\":\"initialized\",\"params\":{}}");
}

static void open_text(const char *name, const char *text)
{
    char body[6000];
    snprintf(
        body, sizeof body,
        "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":{"
        "\"uri\":\"%s\",\"languageId\":\"perp\",\"version\":1,\"text\":\"%s\"}}}",
        uri_of(name), quoted(text));
    send(body);
}

static void change_text(const char *name, int version, const char *text)
{
    char body[6000];
    snprintf(
        body, sizeof body,
        "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didChange\",\"params\":{\"textDocument\":{"
        "\"uri\":\"%s\",\"version\":%d},\"contentChanges\":[{\"text\":\"%s\"}]}}",
        uri_of(name), version, quoted(text));
    send(body);
}

/* A request about a place, with more params, ",\"newName\":\"y\"". */
static void ask(int id, const char *method, const char *name, int line, int character,
                const char *more)
{
    char body[2000];
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"textDocument/%s\",\"params\":{"
             "\"textDocument\":{\"uri\":\"%s\"},\"position\":{\"line\":%d,\"character\":%d}%s}}",
             id, method, uri_of(name), line, character, more);
    send(body);
}

/* Everything that comes back. */
static cli_result talk(int code)
{
    send("{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"shutdown\"}");
    send("{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}");
    cli_result r = cli_run("lsp < '%s'", cli_file("script", script));
    if (r.code != code) fail_msg("exit code %d:\n%s%s", r.code, r.out, r.err);
    return r;
}

/* What answers the request with this id, or is published of this version (id < 0): a message that begins so and has that in it. */
static void expect(const cli_result *r, int id, const char *says)
{
    char mark[40];
    if (id < 0)
        snprintf(mark, sizeof mark, "\"version\":%d,", -id);
    else
        snprintf(mark, sizeof mark, "{\"id\":%d,", id);
    const char *at = strstr(r->out, mark);
    if (!at) fail_msg("no %s in\n%s", mark, r->out);
    const char *end = strstr(at, "Content-Length"), *found = strstr(at, says);
    if (!found || (end && found > end))
        fail_msg("expected '%s' behind %s in\n%s", says, mark, r->out);
}

static void expect_absent(const cli_result *r, int id, const char *says)
{
    char mark[40];
    snprintf(mark, sizeof mark, "{\"id\":%d,", id);
    const char *at = strstr(r->out, mark), *end, *found;
    assert_non_null(at);
    end = strstr(at, "Content-Length");
    found = strstr(at, says);
    if (found && (!end || found < end)) fail_msg("'%s' behind %s in\n%s", says, mark, r->out);
}

static const char *const parts = "# A block.\n"
                                 "part Block(m = 1 \"kg\") {\n"
                                 "    # Where it is.\n"
                                 "    state pos = 0 \"m\", v = 0 \"m/s\"\n"
                                 "    sum F \"N\"\n"
                                 "    der(pos) = v\n"
                                 "    m*der(v) = F\n"
                                 "}\n";
static const char *const user = "use \"lsp_parts\"\n"
                                "use \"planar\"\n"
                                "Block a[i in 1..2](m = 2, pos = 0.1*i)\n"
                                "part Pull(b) { b.F += -3*b.v }\n"
                                "for i in 1..2 { Pull p(a[i]) }\n"
                                "output \xF0\x9D\x9B\xBE = a[1].pos\n" /* two units of UTF-16 */
                                "Ground g\n";

static void mistakes_have_places_in_utf16_and_fixes(void **state)
{
    (void)state;
    begin();
    open_text("wrong.perp", "param \xF0\x9D\x9B\xBE = 1, gr\xC3\xB6\xC3\x9F"
                            "e = 2\n"
                            "state x = 1\n"
                            "\xF0\x9D\x9B\xBE*der(x) = -x*gr\xC3\xB6sse\n");
    char range[300];
    snprintf(range, sizeof range,
             ",\"range\":{\"start\":{\"line\":2,\"character\":16},"
             "\"end\":{\"line\":2,\"character\":16}}");
    ask(2, "codeAction", "wrong.perp", 2, 14, range);
    ask(3, "codeAction", "wrong.perp", 2, 14,
        ",\"range\":{\"start\":{\"line\":0,\"character\":0},\"end\":{\"line\":1,\"character\":0}}");
    change_text("wrong.perp", 7, "state x = 1\nvar f\nder(x) = f\nf = log(x) + 0*f\n");
    cli_result r = talk(0);
    expect(&r, -1, "\"start\":{\"line\":2,\"character\":15},\"end\":{\"line\":2,\"character\":21}");
    expect(&r, -1, "\"code\":\"unknown-name\"");
    expect(&r, 2,
           "\"newText\":\"gr\xC3\xB6\xC3\x9F"
           "e\"");
    expect(&r, 3, "\"result\":[]");
    expect(&r, -7, "\"severity\":2");
    cli_free(&r);
}

/* The copy is the library's text, read-only, and is made anew where it was changed. */
static void expect_library_copy(void)
{
    char path[2048];
    struct stat is;
    snprintf(path, sizeof path, "%s/perp/lib-%s/planar.perp", getenv("XDG_CACHE_HOME"),
             perp_version());
    assert_int_equal(stat(path, &is), 0);
    assert_int_equal(is.st_mode & 0777, 0444);
    char *copy = cli_read(path), *text = cli_read(PERP_SOURCE_DIR "/lib/planar.perp");
    assert_string_equal(copy, text);
    free(copy);
    free(text);
}

static void names_are_explained_found_and_completed(void **state)
{
    (void)state;
    char cache[2048], changed[3000];
    snprintf(cache, sizeof cache, "%s", cli_path("lsp_cache"));
    mkdir(cache, 0700);
    setenv("XDG_CACHE_HOME", cache, 1);
    snprintf(changed, sizeof changed, "lsp_cache/perp");
    mkdir(cli_path(changed), 0700);
    snprintf(changed, sizeof changed, "lsp_cache/perp/lib-%s", perp_version());
    mkdir(cli_path(changed), 0700);
    snprintf(changed, sizeof changed, "lsp_cache/perp/lib-%s/planar.perp", perp_version());
    remove(cli_path(changed));
    cli_file(changed, "# another\n");
    cli_file("lsp_parts.perp", parts);
    begin();
    open_text("lsp_user.perp", user);
    ask(2, "hover", "lsp_user.perp", 2, 27, "");      /* pos, of Block */
    ask(3, "hover", "lsp_user.perp", 2, 19, "");      /* m */
    ask(4, "definition", "lsp_user.perp", 3, 27, ""); /* b.v */
    ask(5, "references", "lsp_user.perp", 5, 17, ",\"context\":{\"includeDeclaration\":true}");
    ask(6, "definition", "lsp_user.perp", 6, 1,
        ""); /* of the library: a copy in the user's cache */
    ask(7, "hover", "lsp_user.perp", 6, 1, "");
    ask(8, "hover", "lsp_user.perp", 5, 3, ""); /* no name */
    change_text("lsp_user.perp", 2,
                "use \"lsp_parts\"\nBlock a[i in 1..2]\noutput z = a[2].\nuse \"p\n");
    ask(9, "completion", "lsp_user.perp", 2, 16, "");
    ask(10, "completion", "lsp_user.perp", 1, 0, "");
    ask(11, "completion", "lsp_user.perp", 3, 6, "");
    cli_result r = talk(0);
    expect(&r, 2, "Where it is.");
    expect(&r, 2, "`a[2].pos` begins at 0.2 m");
    expect(&r, 3, "`a[1].m` = 2 kg");
    expect(&r, 4, "lsp_parts.perp\",\"range\":{\"start\":{\"line\":3,\"character\":23}");
    expect(&r, 5, "lsp_parts.perp\",\"range\":{\"start\":{\"line\":5,\"character\":8}");
    expect(&r, 5, "lsp_user.perp\",\"range\":{\"start\":{\"line\":5,\"character\":17}");
    expect(&r, 6, "/perp/lib-");
    expect(&r, 6, "/planar.perp\",\"range\":{\"start\":{\"line\":7,\"character\":5}");
    expect_library_copy();
    expect(&r, 7, "Fixed body");
    expect(&r, 8, "\"result\":null");
    expect(&r, 9, "\"label\":\"pos\"");
    expect(&r, 9, "\"detail\":\"state in m/s\"");
    expect_absent(&r, 9, "\"label\":\"lookup\"");
    expect(&r, 10, "\"label\":\"Block\"");
    expect(&r, 10, "\"label\":\"simulate\"");
    expect(&r, 11, "\"label\":\"planar\"");
    expect_absent(&r, 11, "\"label\":\"sin\"");
    cli_free(&r);
}

/* Through arguments and used files; a name that clashes, is none, or is the library's is refused. */
static void names_are_renamed_or_refused(void **state)
{
    (void)state;
    static const char *const to = ",\"newName\":\"%s\"";
    char more[100];
    const char *const names[] = {"way", "v", "3x", "state", "a b"};
    cli_file("lsp_parts.perp", parts);
    begin();
    open_text("lsp_user.perp", user);
    for (int k = 0; k < 5; k++) {
        snprintf(more, sizeof more, to, names[k]);
        ask(2 + k, "rename", "lsp_user.perp", 5, 18, more);
    }
    snprintf(more, sizeof more, to, "Floor");
    ask(10, "rename", "lsp_user.perp", 6, 1, more);
    snprintf(more, sizeof more, to, "i2");
    ask(11, "rename", "lsp_user.perp", 2, 8, more);
    ask(12, "prepareRename", "lsp_user.perp", 2, 8, "");
    ask(13, "prepareRename", "lsp_user.perp", 0, 1, "");
    cli_result r = talk(0);
    expect(&r, 2, "lsp_parts.perp\":[{\"range\":{\"start\":{\"line\":3,\"character\":10}");
    expect(
        &r, 2,
        "{\"line\":5,\"character\":17},\"end\":{\"line\":5,\"character\":20}},\"newText\":\"way\"");
    expect(&r, 3, "would mean something else");
    expect(&r, 4, "is no name");
    expect(&r, 5, "is a word of the language");
    expect(&r, 6, "is no name");
    expect(&r, 10, "perp's own library");
    expect(&r, 11, "{\"line\":2,\"character\":36}");
    expect_absent(&r, 11, "{\"line\":4"); /* the other loop's index */
    expect(&r, 12, "\"start\":{\"line\":2,\"character\":8}");
    expect(&r, 13, "no name of the model's");
    cli_free(&r);
}

/* A part that is never given anything: what it speaks of may be the name or not. */
static void what_is_not_known_is_not_renamed(void **state)
{
    (void)state;
    begin();
    open_text("lsp_idle.perp",
              "part A { state x = 0\n der(x) = 1 }\npart Look(o) { output y = o.x }\nA a\n");
    ask(2, "rename", "lsp_idle.perp", 0, 15, ",\"newName\":\"y\"");
    ask(3, "rename", "lsp_idle.perp", 2, 28, ",\"newName\":\"y\"");
    ask(4, "rename", "lsp_idle.perp", 2, 10, ",\"newName\":\"other\"");
    cli_result r = talk(0);
    expect(&r, 2, "of a part that is not given yet");
    expect(&r, 3, "is not known");
    expect(&r, 4, "{\"line\":2,\"character\":26}");
    cli_free(&r);
}

/* What other editors' windows hold counts, not the files. */
static void unsaved_texts_are_used(void **state)
{
    (void)state;
    cli_file("lsp_parts.perp", "part Block { }\n");
    begin();
    open_text("lsp_parts.perp", parts);
    open_text("lsp_user.perp", user);
    ask(2, "hover", "lsp_user.perp", 2, 19, "");
    cli_result r = talk(0);
    expect(&r, 2, "`a[1].m` = 2 kg");
    assert_null(strstr(r.out, "unknown"));
    cli_free(&r);
}

static void texts_are_formatted(void **state)
{
    (void)state;
    begin();
    open_text("lsp_style.perp", "state   x=1\nder(x)=-x\n");
    send("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"textDocument/formatting\",\"params\":{}}");
    ask(3, "formatting", "lsp_style.perp", 0, 0, "");
    change_text("lsp_style.perp", 2, "state x = 1\nder(x) = -x\n");
    ask(4, "formatting", "lsp_style.perp", 0, 0, "");
    cli_result r = talk(0);
    expect(&r, 2, "no such document");
    expect(&r, 3, "\"newText\":\"state x = 1\\nder(x) = -x\\n\"");
    expect(&r, 4, "\"result\":[]");
    cli_free(&r);
}

static void bad_messages_are_answered_and_passed_over(void **state)
{
    (void)state;
    script[0] = 0;
    send("{\"jsonrpc\":\"2.0\",\"id\":50,\"method\":\"textDocument/hover\",\"params\":{}}");
    send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}");
    send("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\"}");
    send("no json");
    send("[1, 2]");
    send("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":7}");
    send_raw("Content-Length: minus one\r\n\r\n");
    send_raw("what is this\r\n\r\n");
    send_raw("Content-Type: x\r\ncontent-length: 2\r\n\r\n{}");
    send("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"workspace/nonsense\"}");
    send("{\"jsonrpc\":\"2.0\",\"method\":\"$/nonsense\"}");
    send("{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":3}}");
    send("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":null}");
    send("{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/"
         "didOpen\",\"params\":{\"textDocument\":{}}}");
    send("{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didChange\",\"params\":[]}");
    send("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"textDocument/hover\",\"params\":null}");
    open_text("lsp_far.perp", "state x = 1\nder(x) = 0\n");
    ask(5, "hover", "lsp_far.perp", 1000000, 7, "");
    ask(6, "hover", "lsp_far.perp", -5, -7, "");
    send("{\"jsonrpc\":\"2.0\",\"id\":\"text\",\"method\":\"textDocument/rename\",\"params\":{}}");
    cli_result r = talk(0);
    expect(&r, 50, "-32002");
    expect(&r, 1, "positionEncoding");
    expect(&r, 2, "-32600");
    expect(&r, 3, "-32601");
    expect(&r, 4, "-32602");
    expect(&r, 5, "null");
    expect(&r, 6, "result");
    assert_non_null(strstr(r.out, "{\"id\":\"text\",\"error\""));
    assert_non_null(strstr(r.out, "{\"id\":null,\"error\":{\"code\":-32700"));
    cli_free(&r);
    script[0] = 0;
    send_raw("Content-Length: 99999999999999999999\r\n\r\n{}");
    cli_expect(1, "128 MB", NULL, "lsp < '%s'", cli_file("script", script));
    cli_expect(1, NULL, NULL, "lsp < /dev/null");
    cli_expect(1, NULL, NULL, "lsp --no-such-option");
}

/* The input ends anywhere: no answer is half written, and it ends. */
static void input_may_end_anywhere(void **state)
{
    (void)state;
    begin();
    open_text("lsp_user.perp", "state x = 1\nder(x) = -x*y\n");
    ask(2, "hover", "lsp_user.perp", 0, 6, "");
    char all[ROOM];
    strcpy(all, script);
    for (size_t n = 0; n < strlen(all); n += 37) {
        memcpy(script, all, n);
        script[n] = 0;
        cli_expect(1, NULL, NULL, "lsp < '%s'", cli_file("script", script));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_have_places_in_utf16_and_fixes),
        cmocka_unit_test(names_are_explained_found_and_completed),
        cmocka_unit_test(names_are_renamed_or_refused),
        cmocka_unit_test(what_is_not_known_is_not_renamed),
        cmocka_unit_test(unsaved_texts_are_used),
        cmocka_unit_test(texts_are_formatted),
        cmocka_unit_test(bad_messages_are_answered_and_passed_over),
        cmocka_unit_test(input_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
