/* Memory of reports: a failing allocation is reported and leaks nothing. */

#include "failing_malloc.h"
#include "unit.h"

#include "perp/perp.h"
#include "outcomes.h"

static const char model_text[] =
    "param mu = 0.5\nstate x = 0, v = 1, w = 0\nvar f, p, q, g, a[2]\nder(x) = v\nder(v) = f + p - "
    "q\n"
    "der(w) = a[1]\n-mu <= f <= mu perp v\n0 <= p perp g + w >= 0\n0 <= q perp g - w >= 0\n"
    "0 <= g perp mu - p - q >= 0\nfriction(f = a, v = [v, w], bound = mu)\n"
    "draw { ground at y = 0; box at (x, v) size (1, 1) angle w; force at (x, 0) = (a, 1) }\n";

static const char run_text[] =
    "# perp\n# unit x = m\nt,x,v,w,f,p,q,g,a[1],a[2],residual\n"
    "0,0,1,0,nan,nan,nan,nan,nan,nan,nan\n"
    "1,1,1,0,-0.5,0,0,0,0,0,1e-12\n2,2,0,0,0.1,0,0,0,0,0,0\n# complete: 3 rows\n";

typedef perp_status writer(const perp_report_run *, int, const perp_report_options *, const char *,
                           perp_diag *);

static void every_failure_is_reported(writer *write)
{
    perp_model *model;
    perp_trajectory *run;
    perp_diag diag = {0};
    if (perp_model_parse(model_text, strlen(model_text), "m.perp", &model, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_trajectory_parse(run_text, strlen(run_text), "r.csv", &run, NULL),
                     PERP_OK);
    perp_report_run runs[] = {{"one", run, model, NULL}, {NULL, run, NULL, run}};
    perp_status status = PERP_ERR_MEMORY;
    for (long k = 1; status != PERP_OK; k++) {
        long before = live;
        allocations = 0;
        fail_at = k;
        status = write(runs, 2, NULL, "/dev/null", NULL);
        fail_at = 0;
        if (status != PERP_OK && status != PERP_ERR_MEMORY)
            fail_msg("allocation %ld: %s", k, perp_status_name(status));
        assert_int_equal(live, before);
        assert_true(k < 5000);
    }
    perp_trajectory_destroy(run);
    perp_model_destroy(model);
}

static void svg(void **state)
{
    (void)state;
    every_failure_is_reported(perp_report_write_svg);
}

static void page(void **state)
{
    (void)state;
    if (!perp_report_has_page()) skip_because("no page in this build");
    every_failure_is_reported(perp_report_write_html);
}

/* A box that falls and lies on a loose rope, and its page. */
static perp_status show_motion(const perp_report_run *run, perp_diag *diag)
{
    enum { STEPS = 130 };
    perp_body box = {
        .joint = PERP_JOINT_FREE, .position = {0, 0, 0.2}, .mass = 1, .inertia = {1, 1, 1}};
    perp_shape shape[] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.5},
                          {.body = 1, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = 0.5}};
    perp_bodies *b = NULL;
    perp_motion *motion = NULL;
    perp_report_options o = perp_report_options_default();
    perp_status status = perp_bodies_create(&box, 1, shape, 2, NULL, &b, diag);
    const perp_path_point rope[] = {{.position = {0, 0, 1}}, {.body = 1}};
    const perp_tendon tendon = {.npath = 2, .path = rope};
    if (status == PERP_OK) status = perp_bodies_add_tendon(b, &tendon, diag);
    if (status == PERP_OK) status = perp_motion_create(b, &motion);
    if (status == PERP_OK) status = perp_motion_add(motion, b);
    for (int k = 0; k < STEPS && status == PERP_OK; k++) {
        status = bodies_step(b, NULL, diag);
        if (status == PERP_OK) status = perp_motion_add(motion, b);
    }
    const perp_motion *const one[] = {motion};
    o.motion = one;
    if (status == PERP_OK && perp_report_has_page())
        status = perp_report_write_html(run, 1, &o, "/dev/null", diag);
    perp_motion_destroy(motion);
    perp_bodies_destroy(b);
    return status;
}

static void motion(void **state)
{
    (void)state;
    perp_trajectory *rows;
    perp_status status = PERP_ERR_MEMORY;
    assert_int_equal(perp_trajectory_parse(run_text, strlen(run_text), "r.csv", &rows, NULL),
                     PERP_OK);
    const perp_report_run run = {.name = "box", .trajectory = rows};
    for (long k = 1; status != PERP_OK; k++) {
        long before = live;
        allocations = 0;
        fail_at = k;
        status = show_motion(&run, NULL);
        fail_at = 0;
        if (status != PERP_OK && status != PERP_ERR_MEMORY)
            fail_msg("allocation %ld: %s", k, perp_status_name(status));
        assert_int_equal(live, before);
        assert_true(k < 5000);
    }
    perp_trajectory_destroy(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(svg),
        cmocka_unit_test(page),
        cmocka_unit_test(motion),
    };
    return run_all(tests);
}
