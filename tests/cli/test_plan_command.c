/* perp plan as a user meets it. */

#include "cli.h"
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#define PUSH  "examples/opty/push.perp"
#define MODEL "input F\nstate x = 0 in [0, 5]\nder(x) = F\n"

static void expect_model(int code, const char *says, const char *text)
{
    char arguments[2048];
    snprintf(arguments, sizeof arguments, "plan '%s'", cli_file("model.perp", text));
    cli_expect(code, NULL, says, "%s", arguments);
}

static void the_push_is_planned_verified_and_replayed(void **state)
{
    (void)state;
    const char *out = cli_path("push.csv"), *log = cli_path("log.csv");
    cli_result r = cli_run("plan " PUSH " -o '%s' --log '%s'", out, log);
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "S-stationary: cost 0.65, horizon 0.65 s"));
    const char *replayed = strstr(r.out, "differs by at most ");
    assert_non_null(replayed);
    assert_true(atof(replayed + strlen("differs by at most ")) < 1e-9);
    cli_free(&r);
    char *text = cli_read(out);
    assert_non_null(strstr(text, "\nt,x,v,lp,ln,gamma,F,residual,costate_x,costate_v\n"));
    assert_non_null(strstr(text, "\n# held F\n"));
    assert_non_null(strstr(text, "\n# complete: 40 rows\n"));
    free(text);
    text = cli_read(log);
    assert_non_null(strstr(text, "\niteration,refined,cost,infeasibility,stationarity,relaxation,"
                                 "barrier,step\n0,0,"));
    free(text);
    /* the same through the simulator: at rest, where it began */
    r = cli_run("simulate " PUSH " --input F='%s' --to 0.65 --step 0.016666666666666666 -o - "
                "--no-plot",
                out);
    assert_int_equal(r.code, 0);
    const char *end = strstr(r.out, "\n# complete: 40 rows"), *row = end - 1;
    while (row[-1] != '\n') row--;
    double t, x, v;
    assert_int_equal(sscanf(row, "%lf,%lf,%lf", &t, &x, &v), 3);
    assert_near(x, 0, 1e-7); /* the step is 1/60 only to ten digits */
    assert_near(v, 0, 1e-7);
    cli_free(&r);
}

/* A model with every kind of row: weighted and not, inputs that are chosen and given, pre() of them. */
/* 0 <= z perp 1 - z >= 0 has two solutions: the plan needs z = 1, a step takes z = 0 and stays behind. */
static void a_replay_that_goes_elsewhere_is_told(void **state)
{
    (void)state;
    cli_result r =
        cli_run("plan '%s' --no-plot",
                cli_file("two.perp", "state x = 0\nvar z in [0, 2]\ninput u in [0, 1]\nder(x) = z\n"
                                     "0 <= z perp 1 - z >= 0\nplan {\n horizon 1\n nodes 5\n"
                                     " minimize integral(u^2)\n at end: x = 1\n}\n"));
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "a simulation with these inputs differs by at most 1.0e+00 (x)"));
    assert_non_null(strstr(r.err, "'x' differs by 1, 1 times its largest size in the plan"));
    cli_free(&r);
}

static void theta_means_what_it_means_in_a_simulation(void **state)
{
    (void)state;
    static const char model[] =
        "param mu = 0.3\ninput u in [-9, 9]\ninput w = sin(3*t)\nstate x = 0, v = 0, z = 1\nvar f, "
        "e\n"
        "der(x) = v\nder(v) = u + w + f - z*x\nder(z)*(1 + x^2) = sin(t) - z^2 + 0.1*pre(u)\n"
        "e = x^2 + u\n-mu <= f <= mu perp v\n"
        "plan {\n horizon 2\n nodes 30\n method theta\n minimize integral(u^2 + 0.1*e^2)\n"
        " at start: u = 0.5\n at end: x = 1, v = 0\n}\n";
    static const char *const thetas[] = {"0.5", "0.7", "1"};
    char path[1024];
    snprintf(path, sizeof path, "%s", cli_file("theta.perp", model));
    for (int i = 0; i < 3; i++) {
        cli_result r = cli_run("plan '%s' --theta %s -o '%s'", path, thetas[i], cli_path("th.csv"));
        if (r.code != 0) fail_msg("%s%s", r.out, r.err);
        assert_true(strstr(r.out, "local minimum: ") || strstr(r.out, "(there: local minimum): "));
        const char *replayed = strstr(r.out, "differs by at most ");
        if (!replayed) fail_msg("%s", r.out);
        assert_true(atof(replayed + strlen("differs by at most ")) < 1e-7);
        cli_free(&r);
    }
    cli_expect(1, NULL, "--theta must be from 0.5 to 1",
               "plan " PUSH " --method theta --theta 0.4");
    cli_expect(1, NULL, "--theta is for the method theta", "plan " PUSH " --theta 0.6");
    expect_model(2, "inputs cannot be held with theta",
                 "input u\nstate x = 0\nder(x) = u\nplan {\n horizon 1\n inputs held\n"
                 " method theta\n at end: x = 1\n}");
}

static void a_plan_is_a_guess_for_a_finer_one(void **state)
{
    (void)state;
    const char *out = cli_path("coarse.csv");
    cli_result r = cli_run("plan " PUSH " --quiet -o '%s'", out);
    assert_int_equal(r.code, 0);
    cli_free(&r);
    r = cli_run("plan " PUSH " --nodes 80 --guess '%s' --no-plot", out);
    assert_non_null(strstr(r.out, ": cost 0.6407746135"));
    cli_free(&r);
    /* the table stands beside the model, too */
    static const char model[] = "input u in [-4, 4]\nstate x = 0\nder(x) = u\n"
                                "plan {\n horizon 1\n minimize integral((u^2 - 1)^2)\n%s}\n";
    static const double ends[] = {1, -1};
    cli_file("down.csv", "t,u,x\n0,-1,0\n1,-1,-1\n");
    cli_file("up.csv", "t,u,x\n0,1,0\n1,1,1\n");
    for (int i = 0; i < 2; i++) {
        char text[512], line[64], path[1024];
        snprintf(line, sizeof line, " guess table(\"%s.csv\")\n", i ? "down" : "up");
        snprintf(text, sizeof text, model, line);
        strcpy(path, cli_file("hill.perp", text));
        r = cli_run("plan '%s' -o -", path);
        const char *end = strstr(r.out, "\n# complete"), *row = end - 1;
        double t, x;
        while (end && row[-1] != '\n') row--;
        if (!end || sscanf(row, "%lf,%lf", &t, &x) != 2) fail_msg("%s%s", r.out, r.err);
        assert_near(x, ends[i], 1e-4);
        cli_free(&r);
    }
    char arguments[2048];
    expect_model(4, ":6:8: ", MODEL "plan { horizon 1\n nodes 4\n guess table(\"none.csv\")\n}\n");
    expect_model(2, "expected the name of a table", MODEL "plan {\n guess table(3)\n}\n");
    snprintf(arguments, sizeof arguments, "plan " PUSH " --guess '%s'",
             cli_file("bad.csv", "t,y\n0,1\n1,2\n"));
    cli_expect(2, NULL, "bad.csv: no column has the name of a state", "%s", arguments);
}

/* The number behind "differs by at most "; the test ends where there is none. */
static double difference_of(const cli_result *r)
{
    const char *replayed = strstr(r->out, "differs by at most ");
    if (r->code != 0 || !replayed) fail_msg("%d: %s%s", r->code, r->out, r->err);
    return atof(replayed + strlen("differs by at most "));
}

static void phases_are_printed_and_replayed_one_by_one(void **state)
{
    (void)state;
    const char *out = cli_path("bounce.csv");
    cli_result r = cli_run("plan examples/control/bounce.perp --method theta -o '%s'", out);
    assert_true(difference_of(&r) < 1e-12);
    assert_non_null(strstr(r.out, "replayed phase by phase"));
    assert_non_null(strstr(r.out, "phase falls: 0.60715346"));
    assert_non_null(strstr(r.out, "nodes 11 to 21, begins with a jump"));
    cli_free(&r);
    char *text = cli_read(out);
    assert_non_null(strstr(text, "\n# phase rises: 0.71839063"));
    free(text);
    r = cli_run("plan examples/control/bounce.perp --guess '%s' --set uz=9 --nodes 41", out);
    assert_non_null(strstr(r.out, "local minimum: cost 5.379771463"));
    cli_free(&r);
    r = cli_run("plan examples/control/surfaces.perp --method backward-euler --nodes 41");
    assert_true(difference_of(&r) < 1e-9); /* with the friction of each surface */
    assert_non_null(strstr(r.out, "nodes 14 to 27"));
    cli_free(&r);
    r = cli_run("plan examples/control/push_wall.perp"); /* equal phases of unequal lengths */
    assert_true(difference_of(&r) < 1e-9);
    cli_free(&r);
    r = cli_run("plan examples/control/bounce.perp"); /* inputs have values within a step */
    assert_non_null(strstr(r.out, "integrated by radau7: differs by "));
    assert_null(strstr(r.out, "on its mesh"));
    cli_free(&r);
    cli_expect(2, NULL, ":17:5: 2 steps are too few for 3 phases",
               "plan examples/control/surfaces.perp --nodes 3");
    cli_expect(3, NULL, "'v = 0' by 0.8333", "plan examples/control/surfaces.perp --set mu=0");
}

/* What no plan holds for is not said of one that was not found. */
static void no_plan_is_not_called_stationary(void **state)
{
    (void)state;
    const char *far =
        "input F in [-10, 10]\nstate x = 0, v = 0 in [-2, 2]\nvar f\nder(x) = v\nder(v) = F + f\n"
        "-1 <= f <= 1 perp v\nplan {\n horizon 1\n nodes 11\n minimize integral(F^2)\n"
        " at end: x = 9, v = 0\n}\n";
    cli_result r = cli_run("plan '%s' --no-plot", cli_file("far.perp", far));
    assert_int_equal(r.code, 3);
    assert_non_null(strstr(r.out, "checked as written"));
    assert_null(strstr(r.out, "stationar"));
    cli_free(&r);
    const char *root =
        "input u in [-1, 1]\nstate x = 0\nder(x) = u\nplan {\n horizon 1\n nodes 11\n"
        " minimize integral(u^2)\n at end: x^2 = 0.25\n}\n";
    cli_expect(3, NULL, "from 1 start;", "plan '%s' --no-plot --max-iter 2 --restarts 0",
               cli_file("root.perp", root));
}

static void an_interrupt_keeps_the_best_iterate_and_says_so(void **state)
{
    (void)state;
    const char *signals[] = {"INT", "TERM"};
    for (int i = 0; i < 2; i++) {
        char out[1024], log[1024];
        strcpy(out, cli_path("interrupted.csv"));
        strcpy(log, cli_path("interrupted_log.csv"));
        unlink(log);
        cli_result r =
            cli_run("plan " PUSH " --nodes 20001 --no-plot -o '%s' --log '%s' & while ! test -e "
                    "'%s'.*.part; do sleep 0.1; done; sleep 1; kill -%s $!; wait $!",
                    out, log, log, signals[i]);
        assert_int_equal(r.code, 130);
        assert_non_null(strstr(r.out, "stopped: cost"));
        assert_non_null(strstr(r.err, "interrupted; this is the best iterate so far"));
        cli_free(&r);
        char *text = cli_read(cli_path("interrupted.csv.partial"));
        assert_non_null(strstr(text, "\n# stopped: stopped by the caller"));
        assert_non_null(strstr(text, "\n# plan: stopped"));
        free(text);
        text = cli_read(cli_path("interrupted_log.csv.partial"));
        assert_non_null(strstr(text, "\n# stopped: "));
        free(text);
    }
}

static void options_override_the_block(void **state)
{
    (void)state;
    const struct {
        const char *options, *says;
    } cases[] = {
        {"--nodes 80", "79 steps"},
        {"--start zeros", "S-stationary: cost 0.65"},
        {"--start random --seed 7", "S-stationary: cost 0.65"},
        {"--pairs fischer-burmeister", "S-stationary: cost 0.65"},
        {"--method radau3 --nodes 9", "(radau3)"},
        {"--relaxation 1 --relaxation-min 1e-5 --optimality 1e-7", "S-stationary: cost 0.65"},
        {"--tol 1e-6", "finer than asked for"},
        {"--tol 1e-6 --max-steps 39", "(there: S-stationary): cost 0.632524016"},
        {"--pairs l1 --penalty 0.05", "S-stationary: cost 0.65"},
        {"--homotopy mu=0 --homotopy-steps 2", "S-stationary: cost 0.65"},
        {"--homotopy mu=0 --start random --tries 3", "3 starts"},
        {"--set mu=0", "S-stationary: cost 0.65"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cli_result r = cli_run("plan " PUSH " --no-plot %s", cases[i].options);
        if (r.code != 0 || !strstr(r.out, cases[i].says))
            fail_msg("%s: exit code %d\n%s%s", cases[i].options, r.code, r.out, r.err);
        cli_free(&r);
    }
}

static void mistakes_are_named(void **state)
{
    (void)state;
    cli_expect(1, NULL, "which model?", "plan");
    cli_expect(1, NULL, "unknown method 'radau'; did you mean 'radau3'?",
               "plan " PUSH " --method radau");
    const char *steps = "input u\nstate x = 0\nnext(x) = x + u\n"
                        "plan {\n horizon 1\n nodes 11\n method %s\n at end: x = 1\n}\n";
    char text[256];
    snprintf(text, sizeof text, steps, "radau5");
    cli_expect(2, NULL, "steps.perp:7:9: method radau5 is for rates (der); the model is discrete",
               "plan '%s'", cli_file("steps.perp", text));
    snprintf(text, sizeof text, steps, "backward-euler");
    const char *path = cli_file("steps.perp", text);
    cli_expect(0, "10 steps (backward-euler)", NULL, "plan '%s' --no-plot", path);
    cli_expect(1, NULL, "method radau3 is for rates (der)", "plan '%s' --method radau3", path);
    cli_expect(1, NULL, "they have no accuracy", "plan '%s' --tol 1e-6", path);
    cli_expect(1, NULL, "unknown back end 'ipot'; did you mean 'ipopt'?",
               "plan " PUSH " --backend ipot");
    cli_expect(1, NULL, "unknown treatment of pairs 'x'", "plan " PUSH " --pairs x");
    cli_expect(1, NULL, "unknown start 'zero'; did you mean 'zeros'?",
               "plan " PUSH " --start zero");
    cli_expect(1, NULL, "--nodes needs a whole number from 2 on", "plan " PUSH " --nodes 1");
    cli_expect(1, NULL, "--nodes needs a whole number from 2 on", "plan " PUSH " --nodes 2.5");
    cli_expect(1, NULL, "needs a whole number from 2 on, not 2e6; the largest is 1e+06\n",
               "plan " PUSH " --nodes 2e6");
    cli_expect(1, NULL, "'x'; there are: scholtes products", "plan " PUSH " --pairs x");
    cli_expect(1, NULL, "--tol must be positive, not 0", "plan " PUSH " --tol 0");
    cli_expect(1, NULL, "unknown parameter, state or input 'nu'; did you mean",
               "plan " PUSH " --set nu=1");
    cli_expect(1, NULL, "--homotopy needs a parameter and its first value",
               "plan " PUSH " --homotopy mu");
    cli_expect(1, NULL, "--homotopy needs a parameter and its first value",
               "plan " PUSH " --homotopy =0");
    cli_expect(1, NULL, "--homotopy needs a parameter and its first value",
               "plan " PUSH " --homotopy mu=x");
    cli_expect(1, NULL, "--homotopy-steps is for --homotopy", "plan " PUSH " --homotopy-steps 3");
    cli_expect(1, NULL, "'nu' is no parameter of the model", "plan " PUSH " --homotopy nu=0");
    cli_expect(1, NULL, "'v' is no parameter of the model", "plan " PUSH " --homotopy v=0");
    cli_expect(1, NULL, "'ux' is free", "plan examples/control/bounce.perp --homotopy ux=0");
    cli_expect(2, NULL, "the model has no plan block", "plan examples/notes/particle.perp");
    cli_expect(4, NULL, "No such file", "plan nosuch.perp");
    cli_expect(4, NULL, "nosuch/x.csv", "plan " PUSH " -o nosuch/x.csv");
    cli_expect(3, NULL, "'x = 10' by 10", "plan " PUSH " --set mu=100");
    cli_result r = cli_run("plan " PUSH " --set mu=100");
    assert_null(strstr(r.out, "stationar")); /* of what holds alone */
    cli_free(&r);
    expect_model(2, "unknown name 'q'", "plan\nstate x = 0\nder(x) = q\n"); /* read on */
}

static void a_parameter_that_walks_keeps_the_problem(void **state)
{
    (void)state;
#define WALK                                                                                       \
    "param n = 4, a = 4\nstate x = 0, v = 0\ninput F in [-9, 9]\nder(x) = v\nder(v) = F\nplan {\n" \
    "minimize integral(F^2)\nat end: x = 1, v = 0\n"
    const char *file =
        cli_file("walk.perp", WALK "horizon 2\nphases n\nnodes 9\nat start: x = sqrt(a)\n}\n");
    const char *says = "makes another problem on its way and cannot walk";
    char arguments[2048];
    static const char *const walks[] = {"n=2 --homotopy-steps 1", "n=2", "n=2 --homotopy-steps 2",
                                        "a=-1"};
    for (size_t i = 0; i < sizeof walks / sizeof *walks; i++) {
        snprintf(arguments, sizeof arguments, "plan '%s' --homotopy %s", file, walks[i]);
        cli_expect(1, NULL, says, "%s", arguments);
    }
    file = cli_file("walk.perp", WALK "phase a {\nnodes 3\nhorizon 1\nparam a = 2\n}\n"
                                      "phase b {\nnodes 3\nhorizon 1\nparam a = 3\n}\n}\n");
    snprintf(arguments, sizeof arguments, "plan '%s' --homotopy a=0", file);
    cli_expect(1, NULL, "'a' has a value of its own in every phase and cannot walk", "%s",
               arguments);
}

static void faults_of_the_block_are_named_with_their_place(void **state)
{
    (void)state;
    expect_model(2, ":4:1: the plan needs a horizon", MODEL "plan { at end: x = 1\n }");
    expect_model(2, ":5:8: nodes must be a whole number", MODEL "plan {\n nodes 1\nhorizon 1\n }");
    expect_model(2, "the horizon is free, so no node stands at a given time",
                 MODEL "plan {\n horizon free\n at t = 1: x = 1\n }");
    expect_model(2, "t = 0.33 is between two nodes",
                 MODEL "plan {\n horizon 1\n nodes 11\n at t = 0.33: x = 1\n }");
    expect_model(2, "the place of 'x = 1' must be a number that the plan does not choose",
                 "param c = 1\n" MODEL "plan {\n horizon 1\n free c\n at t = c: x = 1\n }");
    expect_model(2, "this is outside the horizon",
                 MODEL "plan {\n horizon 1\n nodes 11\n at t = 2: x = 1\n }");
    expect_model(2, "this is the start: write 'at start:'",
                 MODEL "plan {\n horizon 1\n nodes 11\n at 0%: x = 1\n }");
    expect_model(2, "'x = 6' contradicts a range", MODEL "plan {\n horizon 1\n at end: x = 6\n }");
    expect_model(2, "at the start only states have a value",
                 MODEL "plan {\n horizon 1\n at start: F = 1\n }");
    expect_model(2, "'x >= 1' contradicts another condition at the start",
                 MODEL "plan {\n horizon 1\n x >= 1\n }");
    expect_model(2, ":2:7: 'x' begins at 7, outside of its range",
                 MODEL "plan {\n horizon 1\n at start: x = 7\n }");
    expect_model(
        2, ":5:1: a plan switches pairs by 'when' from step to step",
        "state z = 1, v = 0\nvar p\nder(z) = v\nder(v) = p\n0 <= p perp v >= 0 when z <= 0\n"
        "plan {\n horizon 1\n method radau5\n }");
    expect_model(2, "unknown method", MODEL "plan {\n horizon 1\n method euler\n }");
    expect_model(3,
                 ":3:1: 'der(x) = u + log(x - 20)' is not a finite number where the search starts",
                 "input u in [-3, 3]\nstate x = 0.5\nder(x) = u + log(x - 20)\n"
                 "plan {\n horizon 1\n at end: x = 1\n }");
    expect_model(0, "the cost falls to",
                 "input u\nstate x = 0\nder(x) = u\n"
                 "plan {\n horizon 1\n minimize end(x)\n }");
    expect_model(2, ":6:11: at the start only states have a value",
                 MODEL "plan {\n horizon 1\n minimize at(start, der(x))\n }");
    expect_model(2, ":7:18: a weight in 'minimize' must be a number",
                 "param c = 1\n" MODEL "plan {\n horizon 1\n minimize time + c*time\n free c\n }");
    expect_model(2, "phases must be a whole number",
                 MODEL "plan {\n horizon free\n nodes 3\n phases 7\n }");
    expect_model(2, ":5:2: there is nothing in the range from 5 to 1",
                 MODEL "plan {\n horizon free in [5, 1]\n at end: x = 1\n}\n");
    expect_model(2, ":5:2: a horizon must be positive",
                 MODEL "plan {\n horizon free in [-5, -1]\n at end: x = 1\n}\n");
    expect_model(2, ":6:7: there is nothing in the range from 2 to 1",
                 MODEL "plan {\n horizon 1\n free F in [2, 1]\n method radau5\n}\n");
    expect_model(2, ":6:7: there is nothing in the range from 2 to 1",
                 MODEL "plan {\n horizon 1\n free x in [2, 1]\n}\n");
    expect_model(2, ":6:2: a range must be of numbers that the plan does not choose",
                 "param T = 3\n" MODEL "plan { free T\n horizon free in [1, T]\n}\n");
    expect_model(2, ":6:2: there is nothing in the range from 2 to 1",
                 MODEL "plan {\n phase a {\n horizon free in [2, 1]\n nodes 3\n }\n}\n");
#define PHASE(lines) MODEL "plan {\n phase one {\n horizon 1\n nodes 3\n" lines " }\n"
    expect_model(2, ":7:8: nodes must be a whole number",
                 MODEL "plan {\n phase one {\n horizon 1\n nodes 1\n }\n }");
    expect_model(2, ":6:2: the length of phase 'one' must be a positive number",
                 MODEL "plan {\n phase one {\n horizon -1\n nodes 3\n }\n }");
    expect_model(2, ":8:12: this is outside the phase", PHASE(" at t = 2: x = 1\n") "}");
    expect_model(2, ":8:14: t = 0.7 is between two nodes", PHASE(" at t = 0.7: x = 1\n") "}");
    expect_model(2, ":8:12: this is the start", PHASE(" at t = 0: x = 1\n") "}");
    expect_model(2, "'x = 6' contradicts a range", PHASE(" at end: x = 6\n") "}");
    expect_model(2, "the horizon is free, so no node stands at a given time",
                 PHASE("") "phase two {\n horizon free\n nodes 3\n at t = 1.5: x = 1\n }\n}");
    expect_model(2, "at the start only states have a value",
                 PHASE("") "phase two {\n horizon free\n nodes 3\n at start: F = 1\n }\n}");
    expect_model(3, "phase 'two', which is 2",
                 "input F in [-1, 1]\nstate x = 0\nder(x) = F\nplan {\n phase one {\n horizon 1\n"
                 " nodes 3\n }\n phase two {\n horizon free in [1, 2]\n nodes 3\n }\n"
                 " at end: x = 9\n}");
#undef PHASE
}

/* The file of a plan has all parameters: those left free as they were found, and what follows from them. */
static void parameters_are_in_the_file(void **state)
{
    (void)state;
    const char *out = cli_path("free.csv");
    cli_result r =
        cli_run("plan '%s' -o '%s' --quiet",
                cli_file("free.perp", "param k = 1 in [0, 9], twice = 2*k, g = 9.81 \"m/s^2\"\n"
                                      "input F\nstate x = 0\nder(x) = k\n"
                                      "plan {\n horizon 1\n nodes 5\n free k\n"
                                      " minimize integral(F^2)\n at end: x = 3\n}\n"),
                out);
    if (r.code != 0) fail_msg("%s%s", r.out, r.err);
    cli_free(&r);
    char *text = cli_read(out);
    const char *k = strstr(text, "\n# param k = "), *twice = strstr(text, "\n# param twice = ");
    assert_true(k && twice && strstr(text, "\n# param g = 9.81 m/s^2\n"));
    assert_near(atof(k + strlen("\n# param k = ")), 3, 1e-8);
    assert_near(atof(twice + strlen("\n# param twice = ")), 6, 1e-8);
    free(text);
}

static void a_plan_is_followed_by_feedback(void **state)
{
    (void)state;
    const char *gains = cli_path("gains.csv"), *page = cli_path("loop.html");
    cli_result r = cli_run("plan examples/control/swing_up.perp --gains '%s' --noise angle=0.01 "
                           "--runs 4 --report '%s' --no-plot",
                           gains, page);
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(
        r.out, "\nnoise: simulated by radau5, 4 steps in one of the plan's\nwithout feedback"));
    assert_non_null(strstr(r.out, "\nwith feedback, 4 of 4 runs with noise went through"));
    cli_free(&r);
    char *text = cli_read(gains);
    assert_non_null(strstr(text, ",gain_torque_angle,gain_torque_rate\n0,"));
    free(text);
    text = cli_read(page);
    assert_non_null(strstr(text, "without feedback"));
    free(text);
    cli_expect(1, NULL, "'w' is no state of the model",
               "plan examples/control/swing_up.perp --noise w=1");
    cli_expect(1, NULL, "needs a state and its standard deviation",
               "plan examples/control/swing_up.perp --noise angle");
    cli_expect(1, NULL, "jumps between phases", "plan examples/control/bounce.perp --noise x=1");
    cli_expect(0, "condition 'x = 10' (22:13): 0.0316", NULL,
               "plan examples/opty/push_phases.perp --multipliers --no-plot");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_followed_by_feedback),
        cmocka_unit_test(parameters_are_in_the_file),
        cmocka_unit_test(the_push_is_planned_verified_and_replayed),
        cmocka_unit_test(a_replay_that_goes_elsewhere_is_told),
        cmocka_unit_test(theta_means_what_it_means_in_a_simulation),
        cmocka_unit_test(a_plan_is_a_guess_for_a_finer_one),
        cmocka_unit_test(phases_are_printed_and_replayed_one_by_one),
        cmocka_unit_test(no_plan_is_not_called_stationary),
        cmocka_unit_test(an_interrupt_keeps_the_best_iterate_and_says_so),
        cmocka_unit_test(options_override_the_block),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(a_parameter_that_walks_keeps_the_problem),
        cmocka_unit_test(faults_of_the_block_are_named_with_their_place),
    };
    return run_all(tests);
}
