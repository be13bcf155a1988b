/// perp/report.h - pictures of a run: figures as static SVG, and one self-contained HTML page.
///
/// A figure is a title and panels. A panel is a pair of axes with series y over x, or a strip of
/// modes over time, or a map of values over a rectangle. Everything is a view of the caller's
/// arrays:
///
///     double t[100], x[100];
///     perp_series series = {.label = "x", .x = t, .y = x, .n = 100};
///     perp_panel panel = {.x = {.label = "t", .unit = "s"}, .y = {.label = "x", .unit = "m"},
///                         .series = &series, .nseries = 1};
///     perp_figure figure = {.title = "a block", .panels = &panel, .npanels = 1};
///     perp_figure_write_svg(&figure, "block.svg", NULL);

#ifndef PERP_REPORT_H
#define PERP_REPORT_H

#include "perp/base.h"
#include "perp/bodies.h"
#include "perp/model.h"
#include "perp/trajectory.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The spacing of an axis. On a logarithmic axis values that are not positive, or twenty decades
/// below the largest, lie on the lower edge.
typedef enum perp_scale { PERP_SCALE_LINEAR, PERP_SCALE_LOG } perp_scale;

/// The drawing style of a series.
typedef enum perp_style {
    PERP_STYLE_LINE,
    PERP_STYLE_DASHED,
    PERP_STYLE_POINTS,
    PERP_STYLE_LINE_POINTS,
    PERP_STYLE_GHOST ///< a wide pale line, behind the data: a law, a reference
} perp_style;

/// An axis. lo = hi (as in {0}) takes the range from the data.
typedef struct perp_axis {
    const char *label; ///< nullable
    const char *unit;  ///< nullable or "": none
    perp_scale scale;
    double lo, hi;
} perp_axis;

/// n points. A point with a NaN or an infinity interrupts the line.
typedef struct perp_series {
    const char *label; ///< in the legend; nullable: not in it
    const double *x, *y;
    int n;
    perp_style style;
    int color; ///< 0: by its position in the panel; 1..8: that colour of the palette
} perp_series;

/// An interval of one row of a strip, from x = from to x = to, in one of its modes.
typedef struct perp_span {
    double from, to;
    int row, mode;
} perp_span;

/// Rows of coloured intervals, such as stick and slip over time.
typedef struct perp_strip {
    const char *const *rows; ///< nrows labels
    int nrows;
    const char *const *modes; ///< nmodes words of the legend, "" for none; at most 8
    int nmodes;
    const perp_span *spans;
    int nspans;
} perp_strip;

/// Values over a rectangle of nx by ny cells. value[j*nx + i] is in the i-th cell from the left of
/// the j-th row from below. NaN leaves a cell empty.
typedef struct perp_map {
    const double *value;
    int nx, ny;
    double x_lo, x_hi, y_lo, y_hi;
    const char *label; ///< of the colours; nullable
} perp_map;

/// A pair of axes with series. A strip or a map, if given, is below the series.
typedef struct perp_panel {
    const char *title; ///< nullable
    perp_axis x, y;
    const perp_series *series;
    int nseries;
    const perp_strip *strip; ///< nullable
    const perp_map *map;     ///< nullable
    int is_square;           ///< 1: a unit is as long on x as on y
    int height;              ///< [px]; 0: 220, or the height of the strip
} perp_panel;

typedef struct perp_figure {
    const char *title; ///< nullable
    const perp_panel *panels;
    int npanels;
    int columns; ///< panels side by side; 0: 1
    int width;   ///< [px]; 0: 800
} perp_figure;

/// Write a figure as SVG: one file, readable on a light and on a dark background, nothing fetched.
/// Long series are thinned to the resolution of the width; their extremes stay.
///
/// @param path  file name, or "-" for standard output; written under another name and renamed
/// @param diag  nullable
/// @return PERP_OK, PERP_ERR_ARG (no panel, NULL data, a width below 200, a missing row or mode of
///         a strip, an empty map), PERP_ERR_FILE, PERP_ERR_MEMORY
PERP_API perp_status perp_figure_write_svg(const perp_figure *figure, const char *path,
                                           perp_diag *diag);

/// The same as text in memory, which the caller frees by free().
PERP_API perp_status perp_figure_svg(const perp_figure *figure, char **text, size_t *length);

/// The motion of a system of bodies for the page, frame by frame: poses of bodies, paths of tendons
/// through space, contact forces, and changes of contacts.
typedef struct perp_motion perp_motion;

/// A motion without frames, with the present tendons of the system. Shapes, meshes and names are
/// copied: the system need not outlive it.
///
/// @return PERP_OK; PERP_ERR_ARG (NULL); PERP_ERR_MEMORY
PERP_API perp_status perp_motion_create(const perp_bodies *bodies, perp_motion **motion);
PERP_API void perp_motion_destroy(perp_motion *motion);

/// Add the present state, with the contacts of the step before it: once before the first step, then
/// after each.
///
/// A long motion keeps every second, fourth, .. of the states and the last, at most 2000. With more
/// than 500 bodies or many tendons it keeps fewer, down to 200. Above 200000 contacts it keeps
/// contacts in fewer states. Changes of contacts (begin, end, slip, stick) are those of all states.
///
/// @return PERP_OK; PERP_ERR_MEMORY; PERP_ERR_ARG (NULL, another number of bodies or tendons, a
///         time that does not increase)
PERP_API perp_status perp_motion_add(perp_motion *motion, perp_bodies *bodies);

/// The number of stored states.
///
/// @param every  nullable: n if every nth state was stored
PERP_API int perp_motion_frames(const perp_motion *motion, int *every);

/// A run to report on; strings and objects are borrowed.
typedef struct perp_report_run {
    const char *name; ///< in legends, such as the file's name; nullable: "run 1"
    const perp_trajectory *trajectory;
    /// Nullable. It gives the modes, the friction laws, complementarity and the drawing, evaluated
    /// at the rows of the run.
    const perp_model *model;
    const perp_trajectory *iterations; ///< nullable: the log of a planner, one row an iteration
} perp_report_run;

/// The contents of a report.
typedef struct perp_report_options {
    size_t size;                ///< set by the default; tells which fields the caller has
    const char *title;          ///< default NULL: the names of the runs
    const char *const *columns; ///< names of columns, or of arrays of them; default NULL: all
    int ncolumns;
    int max_columns; ///< number of columns shown by default; default 40
    /// Rows of all runs in a page; default 50000. A longer run keeps, in every interval of time,
    /// the rows where a column is largest or smallest.
    int max_rows;
    /// Bytes of all rows, which the page of a longer run carries for zooming; default 2e8, 0: none.
    /// If its rows take more, the page omits them.
    size_t max_all;
    const perp_motion *const *motion; ///< motion of each run, entries nullable; default NULL
} perp_report_options;

/// The defaults; _fill as in perp/base.h.
PERP_API void perp_report_options_fill(perp_report_options *options, size_t size);
static inline perp_report_options perp_report_options_default(void)
{
    perp_report_options options;
    perp_report_options_fill(&options, sizeof options);
    return options;
}

/// Write the main plots of one or several runs as SVG. They are every column over time, those of
/// one unit in one panel; the modes, if a run has its model; and the residual on a logarithmic
/// axis. Several runs lie over each other.
///
/// @param path  file name, or "-" for standard output; written under another name and renamed
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE, PERP_ERR_MEMORY, PERP_ERR_DATA (a named column is
///         in no run, nothing to draw: diag names the fault of each run)
PERP_API perp_status perp_report_write_svg(const perp_report_run *runs, int nruns,
                                           const perp_report_options *options, const char *path,
                                           perp_diag *diag);

/// Write a page: one HTML file that needs no other file and opens from disk. It has the plots of
/// all columns by unit. With the model of a run it also has modes, phase portraits, friction
/// against velocity, complementarity and the model's drawing in motion. A run that cannot be drawn
/// becomes a message on the page, and in diag.
///
/// @param path  file name, or "-" for standard output; written under another name and renamed
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_DATA (a named column is in no run), PERP_ERR_UNAVAILABLE
///         (this build has no page: diag says how to get it), PERP_ERR_FILE, PERP_ERR_MEMORY
PERP_API perp_status perp_report_write_html(const perp_report_run *runs, int nruns,
                                            const perp_report_options *options, const char *path,
                                            perp_diag *diag);

/// Write a page of a sweep. It shows
///
/// - jobs as parallel coordinates, and quantiles;
/// - each result as a histogram, and over each varied quantity, with the means of classes (main
///   effects) and their intervals of 95 %;
/// - Sobol's indices with intervals, of first order from any design, and in total from the design
///   saltelli.
///
/// It needs no page in the build.
///
/// @param table    of `perp sweep`, as perp_trajectory_read has it
/// @param options  nullable: the defaults; title, and columns: the drawn results (default: the
///         first 12)
/// @param path     file name, or "-" for standard output; written under another name and renamed
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE, PERP_ERR_MEMORY, PERP_ERR_DATA (not the table of a
///         sweep, or a named column that it does not have)
PERP_API perp_status perp_report_write_sweep(const perp_trajectory *table,
                                             const perp_report_options *options, const char *path,
                                             perp_diag *diag);

/// 1 if it is the table of a sweep.
PERP_API int perp_report_is_sweep(const perp_trajectory *table);

/// 1 if this build can write pages.
PERP_API int perp_report_has_page(void);

#ifdef __cplusplus
}
#endif
#endif
