/* perp export, and its FMUs in a host that knows the standard alone: it unpacks the file, reads the description, loads the
 * library, and calls the functions of FMI 3.0 and 2.0. */

#include "cli.h"
#include "unit.h"

#include "export/export.h"
#include "export/fmu/fmi2.h"
#include "export/fmu/fmi3.h"
#include "perp/perp.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK "examples/notes/sliding_traditional.perp"

enum { MOST = 1000, PATH = 2048 };

/* The functions of both versions that the host calls; what a version says its own way is behind `version`. */
#define FUNCTIONS(X)                                                                               \
    X(fmi3InstantiateCoSimulation)                                                                 \
    X(fmi3FreeInstance)                                                                            \
    X(fmi3EnterInitializationMode)                                                                 \
    X(fmi3ExitInitializationMode)                                                                  \
    X(fmi3GetFloat64)                                                                              \
    X(fmi3SetFloat64)                                                                              \
    X(fmi3GetInt32)                                                                                \
    X(fmi3GetDirectionalDerivative)                                                                \
    X(fmi3DoStep)                                                                                  \
    X(fmi3Reset)                                                                                   \
    X(fmi3GetFMUState)                                                                             \
    X(fmi3SetFMUState)                                                                             \
    X(fmi3FreeFMUState)                                                                            \
    X(fmi3SerializedFMUStateSize)                                                                  \
    X(fmi3SerializeFMUState)                                                                       \
    X(fmi3DeserializeFMUState)                                                                     \
    X(fmi2Instantiate)                                                                             \
    X(fmi2FreeInstance)                                                                            \
    X(fmi2SetupExperiment)                                                                         \
    X(fmi2EnterInitializationMode)                                                                 \
    X(fmi2ExitInitializationMode)                                                                  \
    X(fmi2GetReal)                                                                                 \
    X(fmi2SetReal)                                                                                 \
    X(fmi2DoStep)                                                                                  \
    X(fmi2GetDirectionalDerivative)                                                                \
    X(fmi2GetRealStatus)

typedef struct fmu {
    int version;
    char folder[PATH], token[100], identifier[100];
    double from, to, step;
    char name[MOST][80]; /* of variables, by value reference */
    int n;
    void *library;
#define MEMBER(function) __typeof__(&(function)) function;
    FUNCTIONS(MEMBER)
#undef MEMBER
} fmu;

/* Unpacking -------------------------------------------------------------------------------------- */

static unsigned number_at(const unsigned char *bytes, int size)
{
    unsigned n = 0;
    for (int i = size - 1; i >= 0; i--) n = n << 8 | bytes[i];
    return n;
}

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
}

/* By the local headers; entries are stored. */
static void unpack(const char *file, const char *folder)
{
    static unsigned char bytes[1 << 27];
    FILE *in = fopen(file, "rb");
    assert_non_null(in);
    size_t n = fread(bytes, 1, sizeof bytes, in), at = 0;
    fclose(in);
    assert_true(n < sizeof bytes);
    while (at + 30 < n && number_at(bytes + at, 4) == 0x04034b50u) {
        char path[PATH];
        unsigned size = number_at(bytes + at + 18, 4), name = number_at(bytes + at + 26, 2);
        assert_int_equal(number_at(bytes + at + 8, 2), 0);
        assert_true(strlen(folder) + name + 2 < sizeof path);
        sprintf(path, "%s/%.*s", folder, (int)name, (char *)bytes + at + 30);
        make_folders(path);
        FILE *out = fopen(path, "wb");
        assert_non_null(out);
        assert_int_equal(fwrite(bytes + at + 30 + name, 1, size, out), size);
        assert_int_equal(fclose(out), 0);
        at += 30 + name + size;
    }
    assert_int_equal(number_at(bytes + at, 4), 0x02014b50u);
}

/* The description -------------------------------------------------------------------------------- */

/* The value of an attribute from `at` on, into text. */
static void attribute(const char *at, const char *name, char *text, size_t size)
{
    char key[60];
    snprintf(key, sizeof key, " %s=\"", name);
    const char *value = at ? strstr(at, key) : NULL;
    if (!value) fail_msg("no attribute %s", name);
    value += strlen(key);
    snprintf(text, size, "%.*s", (int)strcspn(value, "\""), value);
}

static double number(const char *at, const char *name)
{
    char text[40];
    attribute(at, name, text, sizeof text);
    return atof(text);
}

static void read_description(fmu *f)
{
    char path[PATH + 40];
    snprintf(path, sizeof path, "%s/modelDescription.xml", f->folder);
    char *xml = cli_read(path);
    const char *experiment = strstr(xml, "<DefaultExperiment");
    attribute(xml, f->version == 2 ? "guid" : "instantiationToken", f->token, sizeof f->token);
    attribute(xml, "modelIdentifier", f->identifier, sizeof f->identifier);
    f->from = number(experiment, "startTime");
    f->to = number(experiment, "stopTime");
    f->step = number(experiment, "stepSize");
    const char *variable = f->version == 2 ? "<ScalarVariable " : "<Float64 ";
    for (const char *at = xml; (at = strstr(at, variable)) != NULL; at++, f->n++) {
        assert_true(f->n < MOST);
        assert_int_equal((int)number(at, "valueReference"), f->n);
        attribute(at, "name", f->name[f->n], sizeof f->name[0]);
    }
    free(xml);
}

static unsigned reference(const fmu *f, const char *name)
{
    int i = 0;
    while (i < f->n && strcmp(f->name[i], name) != 0) i++;
    if (i == f->n) fail_msg("no variable %s", name);
    return (unsigned)i;
}

/* Exported with these arguments, unpacked and loaded. */
static fmu *load(int version, const char *arguments)
{
    static int count;
    fmu *f = calloc(1, sizeof *f);
    char file[PATH], path[PATH + 200];
    snprintf(file, sizeof file, "%s/%d.fmu", cli_folder(), ++count);
    snprintf(f->folder, sizeof f->folder, "%s/\303\244n fmu %d%%41", cli_folder(), count);
    cli_expect(0, NULL, NULL, "export --fmi %d -o '%s' --quiet %s", version, file, arguments);
    unpack(file, f->folder);
    f->version = version;
    read_description(f);
    snprintf(path, sizeof path, "%s/binaries/%s/%s.so", f->folder,
             version == 2 ? "linux64" : "x86_64-linux", f->identifier);
    f->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!f->library) fail_msg("%s", dlerror());
#define FIND(function) *(void **)&f->function = dlsym(f->library, #function);
    FUNCTIONS(FIND)
#undef FIND
    assert_non_null(f->fmi3DoStep);
    assert_non_null(f->fmi2DoStep);
    return f;
}

static void unload(fmu *f)
{
    dlclose(f->library);
    free(f);
}

/* Calls ------------------------------------------------------------------------------------------ */

static _Thread_local char told[5000];

static void tell3(fmi3InstanceEnvironment e, fmi3Status s, fmi3String category, fmi3String text)
{
    (void)e, (void)s, (void)category;
    snprintf(told, sizeof told, "%s", text);
}

static void tell2(fmi2ComponentEnvironment e, fmi2String name, fmi2Status s, fmi2String category,
                  fmi2String text, ...)
{
    va_list arguments;
    (void)e, (void)name, (void)s, (void)category;
    va_start(arguments, text);
    vsnprintf(told, sizeof told, text, arguments);
    va_end(arguments);
}

static const fmi2CallbackFunctions callbacks = {.logger = tell2};

static void *make(const fmu *f, const char *token, int early)
{
    char resources[PATH + 40], uri[3 * PATH];
    snprintf(resources, sizeof resources, "%s/resources", f->folder);
    if (f->version == 3)
        return f->fmi3InstantiateCoSimulation("one", token, resources, false, false, false, early,
                                              NULL, 0, NULL, tell3, NULL);
    char *to = uri + snprintf(uri, sizeof uri, "file://");
    for (const char *from = resources; *from; from++) { /* what a URI may not hold */
        unsigned char c = (unsigned char)*from;
        to += sprintf(to, c <= ' ' || c > '~' || c == '%' ? "%%%02x" : "%c", c);
    }
    return f->fmi2Instantiate("one", fmi2CoSimulation, token, uri, &callbacks, 0, 0);
}

static void set(const fmu *f, void *i, const char *name, double value)
{
    unsigned r = reference(f, name);
    int status = f->version == 3 ? (int)f->fmi3SetFloat64(i, &r, 1, &value, 1)
                                 : (int)f->fmi2SetReal(i, &r, 1, &value);
    assert_int_equal(status, 0);
}

static double get(const fmu *f, void *i, const char *name)
{
    unsigned r = reference(f, name);
    double value = -1;
    int status = f->version == 3 ? (int)f->fmi3GetFloat64(i, &r, 1, &value, 1)
                                 : (int)f->fmi2GetReal(i, &r, 1, &value);
    assert_int_equal(status, 0);
    return value;
}

static void begin(const fmu *f, void *i)
{
    if (f->version == 3) {
        assert_int_equal(f->fmi3EnterInitializationMode(i, false, 0, f->from, true, f->to), fmi3OK);
        assert_int_equal(f->fmi3ExitInitializationMode(i), fmi3OK);
        return;
    }
    assert_int_equal(f->fmi2SetupExperiment(i, 0, 0, f->from, 1, f->to), fmi2OK);
    assert_int_equal(f->fmi2EnterInitializationMode(i), fmi2OK);
    assert_int_equal(f->fmi2ExitInitializationMode(i), fmi2OK);
}

/* The status; where it went in *reached, which may be NULL. */
static int step(const fmu *f, void *i, double t, double length, double *reached)
{
    fmi3Boolean event, terminate, early;
    double last = t;
    if (f->version == 2) return (int)f->fmi2DoStep(i, t, length, fmi2True);
    int status = (int)f->fmi3DoStep(i, t, length, true, &event, &terminate, &early, &last);
    assert_false(event || terminate);
    if (status == fmi3OK) assert_int_equal(early, last < t + 0.9 * length);
    if (reached) *reached = last;
    return status;
}

static void destroy(const fmu *f, void *i)
{
    if (f->version == 3)
        f->fmi3FreeInstance(i);
    else
        f->fmi2FreeInstance(i);
}

/* Of `steps` steps from row `first` of the table on: all values have its bits. */
static void follow(const fmu *f, void *i, const perp_trajectory *table, int first, int steps)
{
    for (int k = first; k < first + steps; k++) {
        assert_int_equal(step(f, i, f->from + k * f->step, f->step, NULL), 0);
        for (int c = 0; c < perp_trajectory_columns(table); c++) {
            double ours = get(f, i, perp_trajectory_name(table, c)),
                   right = perp_trajectory_column(table, c)[k + 1];
            if (!(ours == right || (isnan(ours) && isnan(right))))
                fail_msg("%s, row %d: %.17g, not %.17g", perp_trajectory_name(table, c), k + 1,
                         ours, right);
        }
    }
}

static perp_trajectory *simulate(const char *arguments)
{
    perp_trajectory *table = NULL;
    cli_expect(0, NULL, NULL, "simulate %s -o '%s' --quiet", arguments, cli_path("run.csv"));
    assert_int_equal(perp_trajectory_read(cli_path("run.csv"), &table, NULL), PERP_OK);
    return table;
}

/* Tests ------------------------------------------------------------------------------------------ */

static void an_fmu_runs_as_perp_simulate(void **state)
{
    (void)state;
    for (int version = 2; version <= 3; version++) {
        fmu *f = load(version, BLOCK);
        perp_trajectory *table = simulate(BLOCK " --to 0.5"),
                        *other = simulate(BLOCK " --to 0.5 --set mu=0.2 --set v=3");
        void *one = make(f, f->token, 0), *two = make(f, f->token, 0);
        if (!one) fail_msg("%s", told);
        assert_near(get(f, one, "v"), 1, 0);
        set(f, two, "mu", 0.2);
        set(f, two, "v", 3);
        begin(f, one);
        begin(f, two);
        for (int k = 0; k < 500; k += 50) { /* one beside the other */
            follow(f, one, table, k, 50);
            follow(f, two, other, k, 50);
        }
        destroy(f, one);
        destroy(f, two);
        perp_trajectory_destroy(table);
        perp_trajectory_destroy(other);
        unload(f);
    }
}

/* Used files, tables and parameters of the export go with it; a step may hold many of those inside, or a part of one. */
static void files_and_settings_are_taken_along(void **state)
{
    (void)state;
    cli_file("push.csv", "t,u\n0,0\n0.3,5\n2,1\n");
    cli_file("rub.perp", "function rub(f, g) = 0.5*f*g\n");
    const char *model =
        cli_file("taken.perp", "use \"rub\"\nparam m = 1, n = 2*m, k = 3\n"
                               "input u = table(\"push.csv\") \"N\"\nstate x[2] = [0, 1] \"m\"\n"
                               "var f\nder(x[1]) = x[2]\nm*der(x[2]) = u + f - k*x[1]\n"
                               "-rub(n, 9.81) <= f <= rub(n, 9.81) perp x[2]\n"
                               "simulate to 1 step 0.01 method backward-euler\n");
    char arguments[PATH];
    snprintf(arguments, sizeof arguments, "'%s' --set k=4", model);
    perp_trajectory *table = simulate(arguments);
    fmu *f = load(3, arguments);
    void *one = make(f, f->token, 0);
    begin(f, one);
    assert_near(get(f, one, "k"), 4, 0);
    follow(f, one, table, 0, 20);
    assert_int_equal(step(f, one, 0.2, 0.1, NULL), fmi3OK); /* ten of those inside */
    follow(f, one, table, 30, 10);
    assert_int_equal(step(f, one, 0.4, 0.013, NULL), fmi3OK);
    assert_near(get(f, one, "t"), 0.413, 1e-12);
    set(f, one, "u", 0);
    assert_int_equal(step(f, one, 0.413, 0.01, NULL), fmi3OK);
    assert_near(get(f, one, "u"), 0, 0);
    destroy(f, one);
    one = make(f, f->token, 0); /* what follows from a parameter follows */
    set(f, one, "m", 3);
    assert_near(get(f, one, "n"), 6, 0);
    destroy(f, one);
    perp_trajectory_destroy(table);
    unload(f);
}

/* Forth and back at random between kept states, `calls` times: the rows are those of the table. */
static void wander(const fmu *f, void *i, const perp_trajectory *table, int calls)
{
    int at = 0, back = 0, rows = perp_trajectory_rows(table);
    void *kept = NULL;
    for (int k = 0; k < calls; k++) {
        int length = 1 + rand() % 15;
        if (!kept || rand() % 3 == 0) {
            assert_int_equal(f->fmi3GetFMUState(i, &kept), fmi3OK);
            back = at;
        }
        if (at + length >= rows || rand() % 2) {
            assert_int_equal(f->fmi3SetFMUState(i, kept), fmi3OK);
            at = back;
        }
        if (at + length >= rows) length = rows - 1 - at;
        follow(f, i, table, at, length);
        at += length;
    }
    f->fmi3FreeFMUState(i, &kept);
}

/* An example that simulates, by both versions, the libraries of both in this process: the first steps of the command, also after 20 returns to kept
 * states; and where the command finds no step, a step that is discarded. 0: it has no runs. */
static int try_example(const char *path)
{
    enum { STEPS = 40 };
    perp_model *model = NULL;
    perp_trajectory *table = NULL;
    assert_int_equal(perp_model_load(path, &model, NULL), PERP_OK);
    perp_simulate_task task = perp_model_simulate_task(model);
    double from = isnan(task.from) ? 0 : task.from;
    perp_model_destroy(model);
    if (isnan(task.to) || isnan(task.step)) return 0;
    cli_result run = cli_run("simulate '%s' --to %.17g -o '%s' --quiet --estimate none", path,
                             from + STEPS * task.step, cli_path("example.csv"));
    const char *rows = cli_path(run.code == 0 ? "example.csv" : "example.csv.partial");
    assert_int_equal(perp_trajectory_read(rows, &table, NULL), PERP_OK);
    int steps = perp_trajectory_rows(table) - 1, stops = run.code != 0;
    cli_free(&run);
    char arguments[PATH + 10];
    snprintf(arguments, sizeof arguments, "'%s'", path);
    fmu *both[] = {load(2, arguments), load(3, arguments)};
    for (int k = 0; k < 2; k++) {
        fmu *f = both[k];
        void *one = make(f, f->token, 0);
        if (!one) fail_msg("%s: %s", path, told);
        begin(f, one);
        if (f->version == 3 && !stops)
            wander(f, one, table, 20);
        else
            follow(f, one, table, 0, steps);
        if (stops) assert_int_equal(step(f, one, from + steps * f->step, f->step, NULL), 2);
        destroy(f, one);
    }
    for (int k = 0; k < 2; k++) unload(both[k]);
    perp_trajectory_destroy(table);
    return 1;
}

static void all_examples_run_as_perp_simulate(void **state)
{
    static const char *const folders[] = {"blog",      "circuits", "control", "identify",
                                          "mechanics", "notes",    "parts"};
    int count = 0;
    (void)state;
    srand(7);
    for (int i = 0; i < 7; i++) {
        char path[PATH];
        snprintf(path, sizeof path, "%s/examples/%s", PERP_SOURCE_DIR, folders[i]);
        DIR *folder = opendir(path);
        assert_non_null(folder);
        for (struct dirent *e; (e = readdir(folder)) != NULL;) {
            size_t n = strlen(e->d_name);
            if (n <= 5 || strcmp(e->d_name + n - 5, ".perp") != 0) continue;
            snprintf(path, sizeof path, "%s/examples/%s/%s", PERP_SOURCE_DIR, folders[i],
                     e->d_name);
            count += try_example(path);
        }
        closedir(folder);
    }
    if (count < 33) fail_msg("only %d examples ran", count);
}

static void states_are_kept_and_taken_up(void **state)
{
    (void)state;
    fmu *f = load(3, "examples/notes/particle.perp");
    perp_trajectory *table = simulate("examples/notes/particle.perp");
    void *one = make(f, f->token, 0), *kept = NULL, *again = NULL;
    size_t size;
    begin(f, one);
    int at = 0, back = 0, rows = perp_trajectory_rows(table);
    srand(5);
    for (int k = 0; k < 100; k++) {
        int length = 1 + rand() % 15;
        if (!kept || rand() % 3 == 0) {
            assert_int_equal(f->fmi3GetFMUState(one, &kept), fmi3OK);
            back = at;
        }
        if (at + length >= rows || rand() % 2) {
            assert_int_equal(f->fmi3SetFMUState(one, kept), fmi3OK);
            at = back;
        }
        if (at + length >= rows) length = rows - 1 - at;
        follow(f, one, table, at, length);
        at += length;
    }
    assert_int_equal(f->fmi3SerializedFMUStateSize(one, kept, &size), fmi3OK);
    fmi3Byte *bytes = malloc(size);
    assert_int_equal(f->fmi3SerializeFMUState(one, kept, bytes, size), fmi3OK);
    destroy(f, one);
    one = make(f, f->token, 0); /* another one, which has not begun */
    assert_int_equal(f->fmi3DeserializeFMUState(one, bytes, size - 1, &again), fmi3Error);
    assert_int_equal(f->fmi3DeserializeFMUState(one, bytes, size, &again), fmi3OK);
    assert_int_equal(f->fmi3SetFMUState(one, again), fmi3OK);
    follow(f, one, table, back, rows - 1 - back < 5 ? rows - 1 - back : 5);
    assert_int_equal(f->fmi3Reset(one), fmi3OK);
    begin(f, one);
    follow(f, one, table, 0, 5);
    bytes[20] ^= 1; /* the state of another model */
    assert_int_equal(f->fmi3DeserializeFMUState(one, bytes, size, &again), fmi3OK);
    assert_int_equal(f->fmi3SetFMUState(one, again), fmi3Error);
    assert_non_null(strstr(told, "no state of this FMU"));
    free(bytes);
    f->fmi3FreeFMUState(one, &kept);
    f->fmi3FreeFMUState(one, &again);
    assert_null(kept);
    destroy(f, one);
    perp_trajectory_destroy(table);
    unload(f);
}

static void a_step_without_solution_is_discarded(void **state)
{
    (void)state;
    const char *model =
        cli_file("stuck.perp", "state x = 0.5\nvar q\nder(x) = q\n0 <= q perp 0.8 - t >= 0\n"
                               "simulate to 2 step 0.1 method backward-euler\n");
    for (int version = 2; version <= 3; version++) {
        fmu *f = load(version, model);
        void *one = make(f, f->token, 0);
        double reached = 0;
        int k = 0, status = 0;
        begin(f, one);
        while (k < 20 && (status = step(f, one, 0.1 * k, 0.1, &reached)) == 0) k++;
        assert_int_equal(status, 2);
        if (version == 2)
            assert_int_equal(f->fmi2GetRealStatus(one, fmi2LastSuccessfulTime, &reached), fmi2OK);
        assert_near(reached, 0.1 * k, 1e-12);
        assert_true(k > 1);
        assert_non_null(strstr(told, "0 <= q perp"));
        destroy(f, one);
        unload(f);
    }
}

static void steps_end_early_where_a_contact_changes(void **state)
{
    (void)state;
    fmu *f = load(3, BLOCK);
    char path[PATH + 40];
    snprintf(path, sizeof path, "%s/modelDescription.xml", f->folder);
    char *xml = cli_read(path);
    assert_non_null(strstr(xml, " mightReturnEarlyFromDoStep=\"true\"")); /* importers ask */
    free(xml);
    double reached = 0;
    void *one = make(f, f->token, 1);
    begin(f, one);
    assert_int_equal(step(f, one, 0, 0.5, &reached), fmi3OK);
    assert_true(reached > 0 && reached < 0.4); /* it comes to rest */
    double before = get(f, one, "v");
    assert_near(before, 0, 1e-12);
    assert_int_equal(step(f, one, reached, f->step, &reached), fmi3OK);
    destroy(f, one);
    unload(f);
}

/* Where a step of ten steps from a kept state ends, with this force. */
static double ends_at(const fmu *f, void *i, void *kept, double force, const char *name)
{
    assert_int_equal(f->fmi3SetFMUState(i, kept), fmi3OK);
    set(f, i, "u", force);
    assert_int_equal(step(f, i, 0.1, 10 * f->step, NULL), 0);
    return get(f, i, name);
}

static void derivatives_are_those_of_the_last_step(void **state)
{
    (void)state;
    fmu *f = load(3, BLOCK);
    void *one = make(f, f->token, 0), *kept = NULL;
    unsigned unknown[] = {reference(f, "x"), reference(f, "v"), reference(f, "friction")},
             known = reference(f, "u");
    double seed = 2, d[3];
    begin(f, one);
    assert_int_equal(f->fmi3GetDirectionalDerivative(one, unknown, 3, &known, 1, &seed, 1, d, 3),
                     fmi3Error);
    assert_int_equal(step(f, one, 0, 0.1, NULL), fmi3OK);
    assert_int_equal(f->fmi3GetFMUState(one, &kept), fmi3OK);
    double after = ends_at(f, one, kept, 20, "v");
    assert_int_equal(f->fmi3GetDirectionalDerivative(one, unknown, 3, &known, 1, &seed, 1, d, 3),
                     fmi3OK);
    assert_near(get(f, one, "v"), after, 0); /* nothing has moved */
    for (int k = 0; k < 2; k++) {
        const char *name = f->name[unknown[k]];
        double more = ends_at(f, one, kept, 21, name), less = ends_at(f, one, kept, 19, name);
        assert_true(fabs(more - less) > 1e-5);
        assert_near(d[k], more - less, 1e-10); /* it slides: linear in the force */
    }
    assert_near(d[2], 0, 1e-10);
    assert_int_equal(
        f->fmi3GetDirectionalDerivative(one, unknown, 1, &unknown[1], 1, &seed, 1, d, 1),
        fmi3Error);
    assert_int_equal(step(f, one, 0.11, 0.4 * f->step, NULL), fmi3OK); /* a shorter one */
    assert_int_equal(f->fmi3GetDirectionalDerivative(one, unknown, 3, &known, 1, &seed, 1, d, 3),
                     fmi3Error);
    f->fmi3FreeFMUState(one, &kept);
    destroy(f, one);
    unload(f);
    f = load(2, BLOCK);
    one = make(f, f->token, 0);
    begin(f, one);
    set(f, one, "u", 20);
    assert_int_equal(step(f, one, 0, f->step, NULL), 0);
    assert_int_equal(f->fmi2GetDirectionalDerivative(one, &unknown[1], 1, &known, 1, &seed, d),
                     fmi2OK);
    assert_near(d[0], 2 * f->step, 1e-12); /* of 1 kg */
    destroy(f, one);
    unload(f);
}

/* States that follow from parameters, one that was set, outputs of states, parameters and inputs; vars have no value there. */
static void derivatives_of_the_start_are_there_in_the_initialization(void **state)
{
    (void)state;
    const char *file =
        cli_file("start.perp", "model start\nparam a = 2, b = 3\ninput u = 1\n"
                               "state x = a^2, y = a*b\nvar f\nder(x) = u\nder(y) = f\n"
                               "0 <= f perp y - 1 >= 0\noutput o = x*y + b*u^2\noutput g = f\n"
                               "simulate to 1 step 0.1 method backward-euler\n");
    fmu *f = load(2, file);
    void *one = make(f, f->token, 0);
    unsigned known[] = {reference(f, "a"), reference(f, "u")},
             unknown[] = {reference(f, "x"), reference(f, "y"), reference(f, "o"),
                          reference(f, "f"), reference(f, "g")};
    double seed[] = {0.5, 2}, d[3], set_to = 5;
    assert_int_equal(f->fmi2SetupExperiment(one, 0, 0, 0, 1, 1), fmi2OK);
    assert_int_equal(f->fmi2EnterInitializationMode(one), fmi2OK);
    assert_int_equal(f->fmi2GetDirectionalDerivative(one, unknown, 3, known, 2, seed, d), fmi2OK);
    assert_near(d[0], 2, 1e-14);                    /* 2 a da */
    assert_near(d[1], 1.5, 1e-14);                  /* b da */
    assert_near(d[2], 2 * 6 + 4 * 1.5 + 12, 1e-13); /* dx y + x dy + 2 b u du */
    destroy(f, one);
    unload(f);

    f = load(3, file);
    one = make(f, f->token, 0);
#define DERIVE(first, n, by, nby)                                                                  \
    f->fmi3GetDirectionalDerivative(one, unknown + (first), n, by, nby, seed, nby, d, n)
    assert_int_equal(f->fmi3EnterInitializationMode(one, false, 0, 0, true, 1), fmi3OK);
    assert_int_equal(DERIVE(0, 3, known, 2), fmi3OK);
    assert_near(d[2], 24 + 6, 1e-13);
    assert_int_equal(DERIVE(3, 1, known, 2), fmi3Error); /* f */
    assert_int_equal(DERIVE(4, 1, known, 2), fmi3Error); /* g = f */
    assert_int_equal(DERIVE(0, 1, unknown + 3, 1), fmi3Error);
    assert_int_equal(f->fmi3SetFloat64(one, unknown, 1, &set_to, 1), fmi3OK);
    assert_int_equal(DERIVE(0, 3, known, 1), fmi3OK);
    assert_near(d[0], 0, 0); /* it was set */
    assert_near(d[2], 5 * 1.5, 1e-13);
    assert_int_equal(DERIVE(2, 1, unknown, 1), fmi3OK);
    assert_near(d[0], 0.5 * 6, 1e-13); /* by x itself */
#undef DERIVE
    assert_int_equal(f->fmi3ExitInitializationMode(one), fmi3OK);
    assert_near(get(f, one, "x"), 5, 0);
    assert_int_equal(step(f, one, 0, 0.1, NULL), fmi3OK);
    assert_near(get(f, one, "x"), 5.1, 1e-12);
    destroy(f, one);
    unload(f);
}

/* Parameters that follow from others, through others that do, and an initial state that follows from one. */
static void derivatives_of_calculated_parameters_are_there(void **state)
{
    (void)state;
    fmu *f = load(3, cli_file("calculated.perp",
                              "model calculated\nparam a = 2, b = 3, n = 2\nparam c = a^2*b, d = "
                              "sqrt(c + 4)*sin(b), e[n] = [c/a, 7], r = sqrt(a - 2)\n"
                              "state x = d*a\nder(x) = -x*e[1]\n"
                              "simulate to 1 step 0.1 method backward-euler\n"));
    void *one = make(f, f->token, 0);
    unsigned known[] = {reference(f, "a"), reference(f, "b")},
             unknown[] = {reference(f, "c"),    reference(f, "d"), reference(f, "e[1]"),
                          reference(f, "e[2]"), reference(f, "x"), reference(f, "a")},
             r = reference(f, "r"), n = reference(f, "n");
    double seed[] = {0.5, -0.25}, d[6], set_to = 1, dc, dd;
    assert_int_equal(f->fmi3EnterInitializationMode(one, false, 0, 0, true, 1), fmi3OK);
    for (int turn = 0; turn < 2; turn++) { /* at the model's values; where b was set */
        double b = turn ? 1 : 3, c = 4 * b;
        dc = 2 * 2 * b * 0.5 - 4 * 0.25;
        dd = dc / (2 * sqrt(c + 4)) * sin(b) - sqrt(c + 4) * cos(b) * 0.25;
        assert_int_equal(f->fmi3GetDirectionalDerivative(one, unknown, 6, known, 2, seed, 2, d, 6),
                         fmi3OK);
        assert_near(d[0], dc, 1e-14);
        assert_near(d[1], dd, 1e-14);
        assert_near(d[2], dc / 2 - c / 4 * 0.5, 1e-14);
        assert_near(d[3], 0, 0);
        assert_near(d[4], dd * 2 + sqrt(c + 4) * sin(b) * 0.5, 1e-13);
        assert_near(d[5], 0.5, 0);
        assert_int_equal(f->fmi3SetFloat64(one, known + 1, 1, &set_to, 1), fmi3OK);
    }
    assert_int_equal(f->fmi3GetDirectionalDerivative(one, &r, 1, known, 1, seed, 1, d, 1),
                     fmi3Error); /* the root of 0 has no slope */
    assert_int_equal(f->fmi3GetDirectionalDerivative(one, &n, 1, known, 1, seed, 1, d, 1),
                     fmi3Error);
    assert_int_equal(f->fmi3GetDirectionalDerivative(one, known, 1, unknown, 1, seed, 1, d, 1),
                     fmi3Error); /* by one that follows from others: nothing sets it */
    destroy(f, one);
    unload(f);
}

static void *run_alone(void *given)
{
    fmu *f = given;
    void *one = make(f, f->token, 0);
    begin(f, one);
    for (int k = 0; k < 1000; k++)
        if (step(f, one, k * f->step, f->step, NULL) != 0) return NULL;
    double *x = malloc(sizeof *x);
    *x = get(f, one, "x");
    destroy(f, one);
    return x;
}

static void instances_run_in_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    fmu *f = load(3, BLOCK);
    pthread_t thread[THREADS];
    void *x[THREADS];
    for (int k = 0; k < THREADS; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, run_alone, f), 0);
    for (int k = 0; k < THREADS; k++) {
        pthread_join(thread[k], &x[k]);
        assert_non_null(x[k]);
        assert_true(*(double *)x[k] == *(double *)x[0]);
    }
    for (int k = 0; k < THREADS; k++) free(x[k]);
    unload(f);
}

/* Importers look at sums and at the directory, which the host above does not. CRC-32 of "123456789" is 0xCBF43926. */
static void zip_files_have_sums_and_a_directory(void **state)
{
    (void)state;
    perp__zip zip = {0};
    perp__zip_add(&zip, "none", "", 0);
    perp__zip_add(&zip, "nine", "123456789", 9);
    size_t directory = zip.bytes.length;
    perp__zip_end(&zip);
    assert_false(zip.failed);
    const unsigned char *all = (const unsigned char *)zip.bytes.at, *second = all + 30 + 4,
                        *end = all + zip.bytes.length - 22;
    assert_int_equal(number_at(all + 14, 4), 0);
    assert_int_equal(number_at(second + 14, 4), 0xCBF43926u);
    const unsigned char *entry = all + directory + 46 + 4; /* of the second */
    assert_int_equal(number_at(entry, 4), 0x02014b50u);
    assert_int_equal(number_at(entry + 16, 4), 0xCBF43926u);
    assert_int_equal(number_at(entry + 42, 4), second - all);
    assert_int_equal(number_at(end, 4), 0x06054b50u);
    assert_int_equal(number_at(end + 10, 2), 2);
    assert_int_equal(number_at(end + 12, 4), end - (all + directory));
    assert_int_equal(number_at(end + 16, 4), directory);
    perp__zip_clear(&zip);
}

static void misuse_is_said(void **state)
{
    (void)state;
    fmu *f = load(3, BLOCK);
    double value = 1;
    int whole = 0;
    unsigned none = 1000, mu = reference(f, "mu"), t = reference(f, "t");
    assert_null(make(f, "another", 0));
    assert_non_null(strstr(told, "token"));
    void *one = make(f, f->token, 0);
    assert_int_equal(step(f, one, 0, 0.1, NULL), fmi3Error); /* before it began */
    assert_int_equal(f->fmi3GetFloat64(one, &none, 1, &value, 1), fmi3Error);
    assert_non_null(strstr(told, "no variable 1000"));
    value = NAN;
    assert_int_equal(f->fmi3SetFloat64(one, &mu, 1, &value, 1), fmi3Error);
    assert_int_equal(f->fmi3SetFloat64(one, &t, 1, &value, 1), fmi3Error);
    assert_int_equal(f->fmi3GetInt32(one, &mu, 1, &whole, 1), fmi3Error);
    begin(f, one);
    value = 0.1;
    assert_int_equal(f->fmi3SetFloat64(one, &mu, 1, &value, 1), fmi3Error);
    assert_non_null(strstr(told, "'mu' cannot be set to 0.1 while the run goes on"));
    assert_int_equal(step(f, one, 0.3, 0.1, NULL), fmi3Error);
    assert_non_null(strstr(told, "the run is at t = 0"));
    assert_int_equal(step(f, one, 0, -0.1, NULL), fmi3Error);
    destroy(f, one);
    unload(f);
}

/* A unit of another size than the text's: it reads the text with that. */
static void sizes_are_set_when_a_unit_is_made(void **state)
{
    (void)state;
    char model[PATH];
    snprintf(model, sizeof model, "%s",
             cli_file("chain.perp",
                      "param n = 2, k = 9, last = n\nstate x[n] = 1, v[n] = 0\n"
                      "for i in 1..n { der(x[i]) = v[i] }\n"
                      "for i in 1..n { der(v[i]) = -i*k*x[i] }\noutput end = x[last]\n"
                      "simulate to 1 step 0.01 method backward-euler\n"));
    for (int version = 2; version <= 3; version++) {
        char arguments[PATH + 40];
        snprintf(arguments, sizeof arguments, "'%s' --set n=4 --set k=5", model);
        perp_trajectory *table = simulate(arguments);
        fmu *f = load(version, arguments);
        void *one = make(f, f->token, 0);
        if (!one) fail_msg("%s", told);
        begin(f, one);
        assert_near(get(f, one, "n"), 4, 0);
        assert_near(get(f, one, "x[4]"), 1, 0);
        follow(f, one, table, 0, 40);
        destroy(f, one);
        perp_trajectory_destroy(table);
        unload(f);
    }
    cli_expect(2, NULL, "a size must be a whole number", "export '%s' --set n=2.5 -o '%s'", model,
               cli_path("no.fmu"));
}

static void the_command_says_what_is_wrong(void **state)
{
    (void)state;
    char out[PATH];
    struct stat found;
    snprintf(out, sizeof out, "%s", cli_path("no.fmu"));
    cli_expect(1, NULL, "to which file", "export " BLOCK);
    cli_expect(1, NULL, "--fmi", "export " BLOCK " -o '%s' --fmi 1", out);
    cli_expect(2, NULL, "no step", "export '%s' -o '%s'",
               cli_file("nostep.perp", "state x = 1\nder(x) = -x\n"), out);
    cli_expect(2, NULL, "the parameter's value", "export '%s' -o '%s'",
               cli_file("bad.perp", "param p\nstate x = 1\nder(x) = -x\n"), out);
    cli_expect(4, NULL, "nowhere.so", "export " BLOCK " -o '%s' --library nowhere.so", out);
    cli_expect(4, NULL, "outside of the model's folder", "export '%s' -o '%s'",
               cli_file("far.perp", "input u = table(\"" PERP_SOURCE_DIR
                                    "/examples/identify/block.csv\", \"x\")\nstate x = 1\n"
                                    "der(x) = u\nsimulate to 1 step 0.1\n"),
               out);
    assert_int_not_equal(stat(out, &found), 0);
}

static void write_bytes(const char *path, const char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* Cut anywhere, of another version, or with a line that says nothing: no instance, and it is said. What a changed byte makes is an instance or not. */
static void damaged_settings_are_said(void **state)
{
    (void)state;
    static const char *const others[] = {"",
                                         "\n",
                                         "perp 0.0.1\nmodel block.perp\n",
                                         "model block.perp\n",
                                         "perp\n",
                                         "# perp\n",
                                         "perp %s\nmodel ../../../../etc/passwd\ntoken x\n",
                                         "perp %s\nmodel /etc/passwd\ntoken x\n",
                                         "perp %s\nmodel \ntoken x\n",
                                         "perp %s\nmodel block.perp\nmethod none\ntoken x\n",
                                         "perp %s\nmodel block.perp\nstep nan\ntoken x\n"};
    for (int version = 2; version <= 3; version++) {
        fmu *f = load(version, BLOCK);
        char path[PATH + 100];
        snprintf(path, sizeof path, "%s/resources/perp.txt", f->folder);
        char *text = cli_read(path);
        size_t n = strlen(text), step = n / 40 + 1;
        for (size_t k = 0; k<n; k += k + 3> n ? 1 : step) {
            write_bytes(path, text, k);
            *told = 0;
            if (make(f, f->token, 0) || !*told) fail_msg("cut at %zu of %zu: '%s'", k, n, told);
        }
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            char other[200];
            int length = snprintf(other, sizeof other, others[i], perp_version());
            write_bytes(path, other, (size_t)length);
            *told = 0;
            if (make(f, f->token, 0) || !*told) fail_msg("'%s': '%s'", others[i], told);
        }
        for (size_t k = 0; k < 200; k++) {
            size_t at = k * 7919 % n;
            char was = text[at];
            text[at] = (char)(was ^ (1 << k % 8));
            write_bytes(path, text, n);
            void *one = make(f, f->token, 0);
            if (one) destroy(f, one);
            text[at] = was;
        }
        assert_int_equal(remove(path), 0);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_null(make(f, f->token, 0));
        remove(path);
        write_bytes(path, text, n);
        void *one = make(f, f->token, 0);
        assert_non_null(one);
        destroy(f, one);
        free(text);
        unload(f);
    }
}

/* A file's name may have a line's end; the settings have a line a setting. */
static void names_of_files_are_escaped(void **state)
{
    (void)state;
    const char *path = cli_file("a\nmethod theta %41.perp",
                                "model a\nstate x = 1\nder(x) = -x\nsimulate to 1 step 0.1\n");
    char quoted[PATH];
    snprintf(quoted, sizeof quoted, "'%s'", path);
    for (int version = 2; version <= 3; version++) {
        fmu *f = load(version, quoted);
        void *one = make(f, f->token, 0);
        if (!one) fail_msg("%s", told);
        destroy(f, one);
        unload(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_fmu_runs_as_perp_simulate),
        cmocka_unit_test(all_examples_run_as_perp_simulate),
        cmocka_unit_test(files_and_settings_are_taken_along),
        cmocka_unit_test(sizes_are_set_when_a_unit_is_made),
        cmocka_unit_test(states_are_kept_and_taken_up),
        cmocka_unit_test(a_step_without_solution_is_discarded),
        cmocka_unit_test(steps_end_early_where_a_contact_changes),
        cmocka_unit_test(derivatives_are_those_of_the_last_step),
        cmocka_unit_test(derivatives_of_the_start_are_there_in_the_initialization),
        cmocka_unit_test(derivatives_of_calculated_parameters_are_there),
        cmocka_unit_test(instances_run_in_threads),
        cmocka_unit_test(zip_files_have_sums_and_a_directory),
        cmocka_unit_test(misuse_is_said),
        cmocka_unit_test(damaged_settings_are_said),
        cmocka_unit_test(names_of_files_are_escaped),
        cmocka_unit_test(the_command_says_what_is_wrong),
    };
    return run_all(tests);
}
