/// perp/trajectory.h - columns of numbers over time, with units and origin, as CSV or, faster, as
/// numbers.
///
/// Use it to read recorded data or a run, or to write a run of your own. The format, for reading
/// and for writing (docs/formats.md):
///
///     # perp 0.2.0                  any number of lines that start with #: metadata
///     # unit v = m/s                a unit, which the reader understands; others are kept as text
///     # text reason                 a column of text, after those of numbers; the reader skips it
///     t,x,v,residual                names
///     0,1,0,nan                     rows: numbers, nan, or an empty field (also nan)
///     # complete: 1 rows            the writer's last line, with the number of rows; readers check it.
///                                   A file without it was cut short
///
/// An incomplete last line is skipped, and the diagnostics report it. Of a file of perp that is a
/// line without its end; of another file a line that is no whole row.
///
/// A file whose name ends with PERP_BINARY_SUFFIX has its rows as numbers of 64 bits, with the same
/// lines of text before and after them. Readers recognise it by its first line, whatever its name,
/// and refuse a damaged one.

#ifndef PERP_TRAJECTORY_H
#define PERP_TRAJECTORY_H

#include "perp/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Suffix of files whose rows are numbers rather than text.
#define PERP_BINARY_SUFFIX ".perpbin"

/// A table in memory; columns are contiguous.
typedef struct perp_trajectory perp_trajectory;

/// Read a file of either format. Faults are reported with file, line and column, of the first ten
/// faulty lines. Among rows of numbers the first fault is reported, with its byte.
///
/// @param path  file name, used in messages; "-": standard input
/// @param out   NULL on error
/// @param diag  nullable
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE (cannot be read), PERP_ERR_MEMORY, PERP_ERR_DATA
///         (no header, text in place of a number, rows of another length, duplicate names, damage)
PERP_API perp_status perp_trajectory_read(const char *path, perp_trajectory **out, perp_diag *diag);

/// The same for text in memory; `name` is the file name in messages.
PERP_API perp_status perp_trajectory_parse(const char *text, size_t length, const char *name,
                                           perp_trajectory **out, perp_diag *diag);
PERP_API void perp_trajectory_destroy(perp_trajectory *trajectory);

PERP_API int perp_trajectory_rows(const perp_trajectory *trajectory);
PERP_API int perp_trajectory_columns(const perp_trajectory *trajectory);

/// Name and unit ("" if none) of a column; NULL when the index is out of range.
PERP_API const char *perp_trajectory_name(const perp_trajectory *trajectory, int column);
PERP_API const char *perp_trajectory_unit(const perp_trajectory *trajectory, int column);

/// Index of the named column, or -1.
PERP_API int perp_trajectory_find(const perp_trajectory *trajectory, const char *name);

/// The column's values, one per row, owned by the trajectory; NULL when the index is out of range.
PERP_API const double *perp_trajectory_column(const perp_trajectory *trajectory, int column);

/// Metadata lines without the leading "# ", in file order; NULL when the index is out of range.
PERP_API const char *perp_trajectory_comment(const perp_trajectory *trajectory, int i);

/// 1 if the file ends with "# complete: N rows".
PERP_API int perp_trajectory_is_complete(const perp_trajectory *trajectory);

/// Writes rows one by one. Errors are stored: every later call returns the first one.
typedef struct perp_trajectory_writer perp_trajectory_writer;

/// Begin a file, with a line "# perp VERSION"; "-" is standard output.
///
/// The rows go to another file in the same folder, which takes the name at the end. An earlier file
/// of this name stays until then, and it stays if writing fails. Links and the mode of the file
/// stay. Devices and pipes are written directly.
///
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE (diag says why), PERP_ERR_MEMORY
PERP_API perp_status perp_trajectory_writer_create(const char *path, perp_trajectory_writer **out,
                                                   perp_diag *diag);

/// The same in place, for a reader that follows the rows; an earlier file is lost at once.
PERP_API perp_status perp_trajectory_writer_stream(const char *path, perp_trajectory_writer **out,
                                                   perp_diag *diag);

/// The file of the rows after a close with a reason: its name and ".partial". If the rows are
/// written in place, it is the file itself. Owned by the writer.
PERP_API const char *perp_trajectory_writer_partial(const perp_trajectory_writer *writer);

/// Write "# text" (each line of a text with several). Allowed only before the header, or after the
/// last row; it ends rows of numbers.
PERP_API perp_status perp_trajectory_writer_comment(perp_trajectory_writer *writer,
                                                    const char *text);

/// Write "# unit NAME = UNIT" lines for the columns that have one, and the header row. Once.
///
/// @param names  n entries, not empty, without line breaks
/// @param units  n entries, each nullable
PERP_API perp_status perp_trajectory_writer_header(perp_trajectory_writer *writer, int n,
                                                   const char *const *names,
                                                   const char *const *units);

/// Declare columns of text after those of numbers, such as an outcome and its reason. Call it
/// before the header, which names them and writes "# text NAME" lines. Readers of perp skip such
/// columns. Files with rows of numbers cannot have them.
///
/// @param names  n entries, as for the header; must live until the header is written
PERP_API perp_status perp_trajectory_writer_texts(perp_trajectory_writer *writer, int n,
                                                  const char *const *names);

/// A row with its texts, each on one line.
///
/// @param texts  one for each name of perp_trajectory_writer_texts, each nullable; nullable: all
///         empty
PERP_API perp_status perp_trajectory_writer_row_texts(perp_trajectory_writer *writer,
                                                      const double *values,
                                                      const char *const *texts);

/// Write a row of n values (n as in the header), each as the shortest text that reads back as it. A
/// -0 is written as 0, and in files of numbers every nan as one. Allocates nothing.
PERP_API perp_status perp_trajectory_writer_row(perp_trajectory_writer *writer,
                                                const double *values);

/// Write "# complete: N rows" and give the file its name.
///
/// With a reason, write "# stopped: REASON", keep an earlier file, and name the rows
/// perp_trajectory_writer_partial; the diagnostics report it. Flushes and closes. Always frees the
/// writer; NULL is fine. The status is that of the whole file: a full disk shows here at the
/// latest.
PERP_API perp_status perp_trajectory_writer_close(perp_trajectory_writer *writer,
                                                  const char *stopped, perp_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
