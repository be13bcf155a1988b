/* Kernels for counting instructions: what `counted` runs. scripts/ledger runs this under callgrind.
 *
 *     bench_ledger        all of them, in the order of --list
 *     bench_ledger --list the compiler and the C library, then a name a line */

#include "generate/lcp_classes.h"
#include "linalg/simd.h"
#include "perp/perp.h"
#include "../tests/support/outcomes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

/* Sizes are such that each kernel takes 5 to 50 million instructions. */
typedef struct kernel {
    const char *name;
    void (*run)(const struct kernel *self);
    const char *text; /* a file, or what the kernel says */
    int n;            /* its size: unknowns, steps, lines */
    int method, class, repeat;
} kernel;

static void fail(const kernel *k, const char *why)
{
    fprintf(stderr, "bench_ledger: %s: %s\n", k->name, why);
    exit(2);
}

static void require(const kernel *k, int ok, const perp_diag *diag)
{
    if (!ok) fail(k, diag && diag->text ? diag->text : "did not end as it must");
}

/* The name and the return of this function are the borders of what is counted. */
__attribute__((noinline)) void counted(void (*work)(void *), void *state);
void counted(void (*work)(void *), void *state)
{
    work(state);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

/* Linear problems --------------------------------------------------------------------------------- */

typedef struct linear {
    perp_lcp_solver *solver;
    perp_lcp *problem;
    double *z;
    int repeat, solved;
} linear;

static void solve_linear(void *state)
{
    linear *l = state;
    perp_lcp_info info = {.size = sizeof info};
    for (int i = 0; i < l->repeat; i++) {
        perp_lcp_solve(l->solver, &l->problem[i], l->z, NULL, &info);
        l->solved += info.outcome == PERP_SOLVED;
    }
}

static void run_linear(const kernel *k)
{
    int n = lcp_class_size((lcp_class)k->class, k->n);
    linear l = {.repeat = k->repeat};
    l.problem = calloc((size_t)k->repeat, sizeof *l.problem);
    l.z = calloc((size_t)n, sizeof *l.z);
    require(k, l.problem && l.z, NULL);
    for (int i = 0; i < k->repeat; i++)
        l.problem[i] = lcp_generate((lcp_class)k->class, n, (unsigned long long)i + 1);
    require(k, perp_lcp_solver_create((perp_lcp_method)k->method, n, NULL, &l.solver) == PERP_OK,
            NULL);
    counted(solve_linear, &l);
    require(k, l.solved == k->repeat, NULL);
    perp_lcp_solver_destroy(l.solver);
    for (int i = 0; i < k->repeat; i++) free((void *)(size_t)l.problem[i].M);
    free(l.problem);
    free(l.z);
}

typedef struct many {
    perp_lcp_batch_solver *solver;
    perp_lcp_batch batch;
    double *z;
    int solved;
} many;

static void solve_batch(void *state)
{
    many *m = state;
    perp_lcp_solve_batch(m->solver, &m->batch, m->z, NULL, &m->solved);
}

static void run_batch(const kernel *k)
{
    size_t n = (size_t)k->n, count = (size_t)k->repeat;
    double *M = malloc((count * n * n + 2 * count * n) * sizeof *M), *q = M + count * n * n;
    require(k, M != NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        perp_lcp one = lcp_generate((lcp_class)k->class, k->n, i + 1);
        memcpy(M + i * n * n, one.M, n * n * sizeof *M);
        memcpy(q + i * n, one.q, n * sizeof *q);
        free((void *)(size_t)one.M);
    }
    many m = {.batch = {.count = k->repeat, .n = k->n, .M = M, .q = q}, .z = q + count * n};
    require(k,
            perp_lcp_batch_solver_create((perp_lcp_method)k->method, k->n, 1, NULL, &m.solver) ==
                PERP_OK,
            NULL);
    counted(solve_batch, &m);
    require(k, m.solved == k->repeat, NULL);
    perp_lcp_batch_solver_destroy(m.solver);
    free(M);
}

/* Friction and nonlinear problems ----------------------------------------------------------------- */

typedef struct cones {
    perp_fc_solver *solver;
    perp_fc problem;
    double *r;
    int repeat, solved;
} cones;

static void solve_friction(void *state)
{
    cones *c = state;
    perp_fc_info info = {.size = sizeof info};
    for (int i = 0; i < c->repeat; i++) {
        perp_fc_solve(c->solver, &c->problem, c->r, NULL, &info);
        c->solved += info.outcome == PERP_SOLVED;
    }
}

/* n contacts in space between bodies that random matrices stand for: W = A A' + I/10. */
static void run_friction(const kernel *k)
{
    int n = 3 * k->n;
    perp_lcp random = lcp_generate(LCP_definite, n, 7);
    double *mu = malloc((size_t)k->n * sizeof *mu);
    cones c = {.repeat = k->repeat, .r = calloc((size_t)n, sizeof *c.r)};
    require(k, mu && c.r, NULL);
    for (int i = 0; i < k->n; i++) mu[i] = 0.3 + 0.1 * (i % 5);
    c.problem =
        (perp_fc){.dimension = 3, .nc = k->n, .q = random.q, .mu = mu, .W = random.M, .ldw = n};
    require(
        k, perp_fc_solver_create((perp_fc_method)k->method, &c.problem, NULL, &c.solver) == PERP_OK,
        NULL);
    counted(solve_friction, &c);
    require(k, c.solved == k->repeat, NULL);
    perp_fc_solver_destroy(c.solver);
    free(c.r);
    free(mu);
    free((void *)(size_t)random.M);
}

typedef struct nonlinear {
    perp_mcp_solver *solver;
    perp_mcp problem;
    double z[4];
    int repeat, solved;
} nonlinear;

static void solve_nonlinear(void *state)
{
    nonlinear *p = state;
    perp_mcp_info info = {.size = sizeof info};
    for (int i = 0; i < p->repeat; i++) {
        for (int j = 0; j < 4; j++) p->z[j] = 1 + 0.1 * i;
        perp_mcp_solve(p->solver, &p->problem, p->z, NULL, &info);
        p->solved += info.outcome == PERP_SOLVED;
    }
}

/* Kojima and Shindo (1986). */
static void run_nonlinear(const kernel *k)
{
    static const char *const F[] = {
        "3*x1^2 + 2*x1*x2 + 2*x2^2 + x3 + 3*x4 - 6", "2*x1^2 + x1 + x2^2 + 10*x3 + 2*x4 - 2",
        "3*x1^2 + x1*x2 + 2*x2^2 + 2*x3 + 9*x4 - 9", "x1^2 + 3*x2^2 + 2*x3 + 3*x4 - 3"};
    perp_formulas *formulas;
    perp_diag diag = {0};
    require(k, perp_formulas_create(4, F, "ledger", &formulas, &diag) == PERP_OK, &diag);
    nonlinear p = {.problem = perp_formulas_mcp(formulas), .repeat = k->repeat};
    require(k,
            perp_mcp_solver_create((perp_mcp_method)k->method, &p.problem, NULL, &p.solver) ==
                PERP_OK,
            NULL);
    counted(solve_nonlinear, &p);
    require(k, p.solved == k->repeat, NULL);
    perp_mcp_solver_destroy(p.solver);
    perp_formulas_destroy(formulas);
}

/* Models ------------------------------------------------------------------------------------------ */

typedef struct text {
    const char *bytes;
    size_t length;
    perp_model *model;
    perp_diag diag;
} text;

static perp_model *load(const kernel *k)
{
    perp_model *model;
    perp_diag diag = {0};
    require(k, perp_model_load(k->text, &model, &diag) == PERP_OK, &diag);
    return model;
}

typedef struct steps {
    perp_simulation *sim;
    int n, done;
} steps;

static void simulate(void *state)
{
    steps *s = state;
    while (s->done < s->n && simulation_step(s->sim, NULL, NULL) == PERP_OK) s->done++;
}

static void run_simulation(const kernel *k)
{
    perp_model *model = load(k);
    perp_diag diag = {0};
    steps s = {.n = k->n};
    require(k, perp_simulation_create(model, NULL, &s.sim, &diag) == PERP_OK, &diag);
    counted(simulate, &s);
    require(k, s.done == k->n, NULL);
    perp_simulation_destroy(s.sim);
    perp_model_destroy(model);
}

static void step_batch(void *state)
{
    batch_step(state, 100, NULL);
}

/* Copies side by side, each with friction and a push of its own. */
static void run_lanes(const kernel *k)
{
    perp_model *model = load(k);
    perp_diag diag = {0};
    perp_batch *batch;
    perp_simulation_options o = perp_simulation_options_default(model);
    o.ninput = o.nparameter = PERP_ALL;
    require(k, perp_batch_create(model, &o, k->n, 1, &batch, &diag) == PERP_OK, &diag);
    batch_step(batch, 1, NULL);
    for (int i = 0; i < k->n; i++) {
        perp_simulation *sim = perp_batch_simulation(batch, i);
        perp_simulation_set_parameter(sim, 1, 0.2 + 0.4 * i / k->n);
        perp_simulation_set_input(sim, 0, i * 7 % 19 - 9);
    }
    counted(step_batch, batch);
    for (int i = 0; i < k->n; i++) require(k, batch_status(batch, i) == PERP_OK, NULL);
    perp_batch_destroy(batch);
    perp_model_destroy(model);
}

typedef struct planned {
    perp_plan *plan;
    perp_plan_result result;
} planned;

static void solve_plan(void *state)
{
    planned *p = state;
    p->result.size = sizeof p->result;
    perp_plan_solve(p->plan, &p->result, NULL);
}

static void run_plan(const kernel *k)
{
    perp_model *model = load(k);
    perp_plan_options o = perp_plan_options_default(model);
    perp_diag diag = {0};
    planned p;
    o.nodes = k->n;
    o.backend = PERP_PLAN_OWN;
    require(k, perp_plan_create(model, &o, &p.plan, &diag) == PERP_OK, &diag);
    counted(solve_plan, &p);
    require(k, perp_plan_holds(p.result.outcome), NULL);
    perp_plan_destroy(p.plan);
    perp_model_destroy(model);
}

typedef struct fit {
    perp_model *model;
    perp_dataset *data;
    perp_identify_options options;
    perp_identification result;
    perp_status status;
} fit;

static void identify(void *state)
{
    fit *f = state;
    f->result.size = sizeof f->result;
    f->status = perp_identify(f->model, f->data, &f->options, &f->result, NULL);
}

static void fit_block(const kernel *k)
{
    fit f = {.model = load(k)};
    require(k,
            perp_dataset_create(&f.data) == PERP_OK &&
                perp_dataset_read(f.data, "examples/identify/block.csv", NULL) == PERP_OK &&
                perp_identify_options_default(f.model, &f.options, NULL) == PERP_OK,
            NULL);
    f.options.threads = 1;
    f.options.starts = 1;
    f.options.max_iter = k->n;
    counted(identify, &f);
    require(k, f.status == PERP_OK, NULL);
    perp_identification_clear(&f.result);
    perp_dataset_destroy(f.data);
    perp_model_destroy(f.model);
}

static void parse(void *state)
{
    text *t = state;
    if (perp_model_parse(t->bytes, t->length, "ledger.perp", &t->model, &t->diag) != PERP_OK)
        t->model = NULL;
}

static void parse_counted(const kernel *k, const char *bytes, size_t length)
{
    text t = {.bytes = bytes, .length = length};
    counted(parse, &t);
    require(k, t.model != NULL, &t.diag);
    perp_model_destroy(t.model);
}

/* n functions: what grows with their square would be seen. */
static void run_parse_functions(const kernel *k)
{
    char *bytes = malloc((size_t)k->n * 40 + 100);
    require(k, bytes != NULL, NULL);
    char *end = bytes + sprintf(bytes, "state x = 1\nder(x) = -f7(x)\n");
    for (int i = 0; i < k->n; i++) end += sprintf(end, "function f%d(x) = x + %d\n", i, i);
    parse_counted(k, bytes, (size_t)(end - bytes));
    free(bytes);
}

/* A model of n bodies with names of their own. */
static void run_parse(const kernel *k)
{
    char *bytes = malloc((size_t)k->n * 200 + 100), *end = bytes;
    require(k, bytes != NULL, NULL);
    for (int i = 0; i < k->n; i++) end += sprintf(end, "param k_%d = %d.5 \"1/s\"\n", i, 1 + i % 7);
    for (int i = 0; i < k->n; i++) end += sprintf(end, "state x_%d = 0.%d\nvar f_%d\n", i, i, i);
    for (int i = 0; i < k->n; i++)
        end += sprintf(end, "der(x_%d) = -k_%d*(x_%d - x_%d) + f_%d\n0 <= f_%d perp x_%d >= 0\n", i,
                       i, i, (i + 1) % k->n, i, i, i);
    parse_counted(k, bytes, (size_t)(end - bytes));
    free(bytes);
}

/* An example with another number of parts. */
static void run_parse_array(const kernel *k)
{
    static char bytes[8192], changed[8300];
    FILE *file = fopen(k->text, "r");
    require(k, file != NULL, NULL);
    bytes[fread(bytes, 1, sizeof bytes - 1, file)] = 0;
    fclose(file);
    char *at = strstr(bytes, "param n = 100\n");
    require(k, at != NULL, NULL);
    *at = 0;
    int n = sprintf(changed, "%sparam n = %d%s", bytes, k->n, at + strlen("param n = 100"));
    parse_counted(k, changed, (size_t)n);
}

/* Tables ------------------------------------------------------------------------------------------ */

enum { COLUMNS = 5 };

typedef struct table {
    int rows;
    double (*value)[COLUMNS];
    perp_trajectory *read;
    perp_status status;
} table;

static const char table_path[] = "build/ledger.csv";

static void write_table(void *state)
{
    static const char *const names[COLUMNS] = {"t", "x", "v", "f", "residual"};
    table *t = state;
    perp_trajectory_writer *w;
    t->status = perp_trajectory_writer_create(table_path, &w, NULL);
    if (t->status != PERP_OK) return;
    perp_trajectory_writer_header(w, COLUMNS, names, NULL);
    for (int i = 0; i < t->rows; i++) perp_trajectory_writer_row(w, t->value[i]);
    t->status = perp_trajectory_writer_close(w, NULL, NULL);
}

static void read_table(void *state)
{
    table *t = state;
    t->status = perp_trajectory_read(table_path, &t->read, NULL);
}

static void run_table(const kernel *k)
{
    table t = {.rows = k->n, .value = malloc((size_t)k->n * sizeof *t.value)};
    unsigned long long s = 1;
    require(k, t.value != NULL, NULL);
    for (int i = 0; i < k->n; i++) {
        for (int c = 0; c < COLUMNS; c++) {
            s = s * 6364136223846793005u + 1442695040888963407u;
            t.value[i][c] = c == 0                 ? 1e-3 * i
                            : c == 4 && i % 3 == 0 ? 0
                                                   : ldexp((double)(s >> 11), -53 - 12 * c);
        }
    }
    int is_read = strcmp(k->text, "read") == 0;
    if (is_read)
        write_table(&t);
    else
        counted(write_table, &t);
    require(k, t.status == PERP_OK, NULL);
    if (is_read) counted(read_table, &t);
    require(k, t.status == PERP_OK && (!is_read || perp_trajectory_rows(t.read) == k->n), NULL);
    perp_trajectory_destroy(t.read);
    free(t.value);
}

/* Bodies --------------------------------------------------------------------------------------- */

typedef struct hull {
    double *point;
    int n;
    perp_mesh *mesh;
} hull;

static void make_hull(void *state)
{
    hull *h = state;
    (void)perp_mesh_hull(h->point, h->n, &h->mesh, NULL);
}

/* Of n points every 40th is a corner, on a spiral around the sphere. */
static void run_hull(const kernel *k)
{
    hull h = {.point = calloc(3 * (size_t)k->n, sizeof(double)), .n = k->n};
    require(k, h.point != NULL, NULL);
    for (int i = 0; i < k->n; i++) {
        double z = 1 - (2 * i + 1.0) / k->n, turn = 2.4 * i, size = i % 40 ? 0.5 : 1,
               r = sqrt(1 - z * z);
        const double x[3] = {r * cos(turn), r * sin(turn), z};
        for (int c = 0; c < 3; c++) h.point[3 * i + c] = size * x[c];
    }
    counted(make_hull, &h);
    require(k, h.mesh != NULL, NULL);
    perp_mesh_destroy(h.mesh);
    free(h.point);
}

typedef struct stack {
    perp_bodies *bodies;
    int steps, solved;
} stack;

enum { BOXES = 8 };

static void step_stack(void *state)
{
    stack *s = state;
    perp_bodies_info info = {.size = sizeof info};
    double push[6 * BOXES] = {0};
    for (int i = 0; i < s->steps; i++) {
        push[6 * BOXES - 6] = 8 * sin(0.3 * i);
        perp_bodies_set_force(s->bodies, push);
        s->solved +=
            perp_bodies_step(s->bodies, &info, NULL) == PERP_OK && info.outcome == PERP_SOLVED;
    }
}

/* A stack of boxes whose top one is pushed to and fro, so that it slides in some steps. */
static void run_stack(const kernel *k)
{
    perp_body body[BOXES] = {0};
    perp_shape shape[BOXES + 1] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.5}};
    stack s = {.steps = k->n};
    perp_diag diag = {0};
    for (int i = 0; i < BOXES; i++) {
        body[i] = (perp_body){.joint = PERP_JOINT_FREE, .mass = 1};
        body[i].position[2] = 0.1 + 0.2 * i;
        for (int c = 0; c < 3; c++) body[i].inertia[c] = 0.04 / 6;
        shape[1 + i] =
            (perp_shape){.body = 1 + i, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = 0.5};
    }
    require(k, perp_bodies_create(body, BOXES, shape, BOXES + 1, NULL, &s.bodies, &diag) == PERP_OK,
            &diag);
    counted(step_stack, &s);
    require(k, s.solved == k->n, NULL);
    perp_bodies_destroy(s.bodies);
}

static const kernel kernels[] = {
    {"lemke_3", run_linear, .n = 3, .method = PERP_LCP_LEMKE, .class = LCP_definite,
     .repeat = 2000},
    {"lemke_box", run_linear, .n = 8, .method = PERP_LCP_LEMKE, .class = LCP_box, .repeat = 300},
    {"lemke_graph", run_linear, .n = 30, .method = PERP_LCP_LEMKE, .class = LCP_graph,
     .repeat = 20},
    {"auto_4", run_linear, .n = 4, .method = PERP_LCP_AUTO, .class = LCP_definite, .repeat = 2000},
    {"auto_64", run_linear, .n = 64, .method = PERP_LCP_AUTO, .class = LCP_definite, .repeat = 10},
    {"bpp_64", run_linear, .n = 64, .method = PERP_LCP_BPP, .class = LCP_definite, .repeat = 10},
    {"ipm_16", run_linear, .n = 16, .method = PERP_LCP_IPM, .class = LCP_definite, .repeat = 50},
    {"enumerate_6", run_linear, .n = 6, .method = PERP_LCP_ENUMERATE, .class = LCP_p_matrix,
     .repeat = 50},
    {"batch_4", run_batch, .n = 4, .method = PERP_LCP_AUTO, .class = LCP_definite, .repeat = 2000},
    {"friction_auto_4", run_friction, .n = 4, .method = PERP_FC_AUTO, .repeat = 50},
    {"friction_nsgs_16", run_friction, .n = 16, .method = PERP_FC_NSGS, .repeat = 5},
    {"mcp_4", run_nonlinear, .method = PERP_MCP_AUTO, .repeat = 50},
    {"simulate_particle", run_simulation, "examples/notes/particle.perp", .n = 1200},
    {"simulate_chain", run_simulation, "examples/mechanics/chain.perp", .n = 40},
    {"simulate_square", run_simulation, "examples/mechanics/square.perp", .n = 300},
    {"simulate_cube", run_simulation, "examples/mechanics/cube.perp", .n = 40},
    {"simulate_crank", run_simulation, "examples/mechanics/slider_crank.perp", .n = 300},
    {"lanes_block", run_lanes, "examples/notes/sliding_traditional.perp", .n = 64},
    {"plan_push", run_plan, "examples/opty/push.perp", .n = 20},
    {"identify_block", fit_block, "examples/identify/block.perp", .n = 3},
    {"load_names", run_parse, .n = 1000},
    {"load_functions", run_parse_functions, .n = 4000},
    {"load_chain", run_parse_array, "examples/mechanics/chain.perp", .n = 1000},
    {"write_csv", run_table, "write", .n = 10000},
    {"read_csv", run_table, "read", .n = 10000},
    {"hull", run_hull, .n = 10000},
    {"step_stack", run_stack, .n = 40},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static void list(void)
{
    const char *library = "another C library";
#ifdef __GLIBC__
    static char glibc[40];
    snprintf(glibc, sizeof glibc, "glibc %.20s", gnu_get_libc_version());
    library = glibc;
#endif
#ifdef __clang__
    printf("%s, %s\n", __VERSION__, library);
#else
    printf("gcc %s, %s\n", __VERSION__, library);
#endif
    for (int i = 0; i < KERNELS; i++) printf("%s\n", kernels[i].name);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        list();
        return 0;
    }
    perp__isa_most = 0; /* the plain versions: counts do not depend on the machine */
    for (int i = 0; i < KERNELS; i++) {
        if (argc < 2 || strcmp(argv[1], kernels[i].name) == 0) kernels[i].run(&kernels[i]);
    }
    return 0;
}
