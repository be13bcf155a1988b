/* perp classify: to which classes the matrix of a complementarity problem belongs, and what that
 * guarantees. */

#include "cli.h"
#include "json.h"
#include "problem_lcp.h"

#include <stdio.h>

typedef struct request {
    cli_args args;
    const char *file;
    int as_json;
    cJSON *json, *list; /* with --json */
} request;

static const cli_option options[] = {
    {"", "FILE.json", NULL, CLI_INTO(request, file), .needed = "which problem?"},
    CLI_JSON_OPTION(request),
};

const cli_command cli_command_classify = {
    .name = "classify",
    .usage = "FILE.json [options]",
    .about = "Print the classes of the matrix M of each problem in the file, and what they "
             "guarantee.",
    .notes = "exit codes: 0 done, 1 usage, 2 bad data, 4 file or memory",
    CLI_OPTIONS(options)};

const char *cli_class_word(int class)
{
    if (class > 0) return "yes";
    if (class == 0) return "no";
    return "not decided (too large)";
}

static void print_class(const char *name, const perp_lcp_class *c)
{
    printf("%s\n  symmetric %s; positive definite %s; semidefinite %s; P %s; P0 %s; copositive %s; "
           "Z %s\n",
           name[0] ? name : "(unnamed)", cli_class_word(c->symmetric),
           cli_class_word(c->positive_definite), cli_class_word(c->positive_semidefinite),
           cli_class_word(c->p_matrix), cli_class_word(c->p0_matrix), cli_class_word(c->copositive),
           cli_class_word(c->z_matrix));
    if (c->positive_definite > 0 || c->p_matrix > 0)
        printf("  exactly one solution for every q; auto, lemke, bpp, murty and fb must find it\n");
    else if (c->positive_semidefinite > 0)
        printf("  a solution wherever w >= 0, z >= 0 can be met; lemke finds it or proves there is "
               "none, ipm finds it; w is unique if M is symmetric\n");
    else if (c->copositive > 0)
        printf("  a solution for every q that no ray of the homogeneous problem excludes; lemke "
               "finds it or ends on such a ray\n");
    else
        printf("  nothing is guaranteed; enumerate decides up to n = %d\n", PERP_LCP_ENUMERATE_MAX);
}

static int classify_one(const request *r, const cJSON *json, const char *file, perp_diag *diag)
{
    problem_lcp p;
    perp_lcp_class c = {.size = sizeof c};
    int code = cli_check_keys(json, "lcp", file);
    if (code != CLI_DONE) return code;
    perp_status status = problem_lcp_from_json(json, file, &p, diag);
    if (status == PERP_OK) status = perp_lcp_classify(&p.view, &c);
    if (status == PERP_OK && r->json) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", p.name);
        cJSON_AddNumberToObject(o, "n", p.view.n);
        cli_json_add_class(o, &c);
        cJSON_AddItemToArray(r->list, o);
    }
    if (status == PERP_OK && !r->json) print_class(p.name, &c);
    if (status == PERP_OK && !r->json && p.nfree)
        printf("  (of the whole matrix, free rows included)\n");
    problem_lcp_clear(&p);
    return cli_exit_code(status);
}

int perp__cmd_classify(int argc, char **argv)
{
    request r = {.args = {&cli_command_classify, argc, argv}};
    int code = cli_read(&r.args, &r);
    if (code != CLI_DONE) return code;
    const char *file = r.file;
    perp_diag diag = {0};
    perp_status status;
    cJSON *json = problem_json_load(file, &status, &diag);
    code = json ? CLI_DONE : cli_exit_code(status);
    if (r.as_json) {
        r.json = cli_json_begin("classify");
        r.list = cJSON_CreateArray();
    }
    if (r.as_json) cJSON_AddItemToObject(r.json, "problems", r.list);
    if (json && !cJSON_IsArray(json)) {
        code = classify_one(&r, json, file, &diag);
    } else if (json) {
        const cJSON *item;
        char where[1024];
        int k = 0;
        cJSON_ArrayForEach(item, json)
        {
            cli_problem_place(where, sizeof where, file, ++k);
            if (code == CLI_DONE) code = classify_one(&r, item, where, &diag);
        }
    }
    if (r.json) code = cli_json_end(r.json, code, &diag, stdout);
    fflush(stdout);
    cli_print_diag(&diag, stderr);
    perp_diag_clear(&diag);
    problem_json_free(json);
    return code;
}
