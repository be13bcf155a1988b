/// perp/trajectory.h - columns of numbers over time, with units and where they came from, as CSV or, faster, as
/// numbers.
///
/// The format, for reading and for writing (docs/formats.md):
///
///     # perp 0.2.0                  any number of lines that start with #: metadata
///     # unit v = m/s                a unit, which the reader understands; others are kept as text
///     # text reason                 a column of text, behind those of numbers; the reader passes over it
///     t,x,v,residual                names
///     0,1,0,nan                     rows: numbers, nan, or an empty field (also nan)
///     # complete: 1 rows            the writer's last line, with the number of rows, which readers check; a file
///                                   without it was cut short
///
/// A last line that was cut off is left out: without the end of a line, the last line of a file of perp, and that of
/// another file where it is no whole row. The diagnostics say so.
///
/// A file whose name ends with PERP_BINARY_SUFFIX is written with its rows as numbers of 64 bits and the same lines of text
/// before and behind them. Readers tell it by its first line, whatever its name; what is damaged in it is refused.
///
/// Come back here when you want to read recorded data or a run, or to write a run of your own.

#ifndef PERP_TRAJECTORY_H
#define PERP_TRAJECTORY_H

#include "perp/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Of names of files whose rows are numbers rather than text.
#define PERP_BINARY_SUFFIX ".perpbin"

/// A table in memory; columns are contiguous.
typedef struct perp_trajectory perp_trajectory;

/// Read a file of either format. All faults of the first ten lines that have one are reported with file, line
/// and column; among rows of numbers the first, with its byte.
///
/// @param path  file name, used in messages; "-": standard input
/// @param out   NULL on error
/// @param diag  nullable
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE (cannot be read), PERP_ERR_DATA (no header, text where a
///         number is expected, rows of another length, duplicate names, damage), PERP_ERR_MEMORY
PERP_API perp_status perp_trajectory_read(const char *path, perp_trajectory **out, perp_diag *diag);

/// The same from text in memory; `name` stands for the file name in messages.
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

/// Writes rows as they come. Errors are kept: the first one is returned by every later call.
typedef struct perp_trajectory_writer perp_trajectory_writer;

/// Begin a file, with a line "# perp VERSION"; "-" is standard output. The rows go to another file in the same folder,
/// which takes the name at the end: an earlier file of this name stays until then, and stays altogether when
/// writing fails. Links stay, and the mode of the file. Devices and pipes are written to.
///
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE (diag says why), PERP_ERR_MEMORY
PERP_API perp_status perp_trajectory_writer_create(const char *path, perp_trajectory_writer **out,
                                                   perp_diag *diag);

/// The same in place, for a reader that follows the rows as they come; an earlier file is lost at once.
PERP_API perp_status perp_trajectory_writer_stream(const char *path, perp_trajectory_writer **out,
                                                   perp_diag *diag);

/// The file that has the rows once the writer is closed with a reason: its name and ".partial"; the file itself where
/// the rows are written in place. Owned by the writer.
PERP_API const char *perp_trajectory_writer_partial(const perp_trajectory_writer *writer);

/// Write "# text" (each line of a text with several); only before the header, or after the last
/// row: rows of numbers have ended then.
PERP_API perp_status perp_trajectory_writer_comment(perp_trajectory_writer *writer,
                                                    const char *text);

/// Write "# unit NAME = UNIT" lines for the columns that have one, and the header row. Once.
///
/// @param names  n entries, not empty, without line breaks
/// @param units  n entries, each nullable
PERP_API perp_status perp_trajectory_writer_header(perp_trajectory_writer *writer, int n,
                                                   const char *const *names,
                                                   const char *const *units);

/// Columns of text behind those of numbers, such as an outcome and its reason; called before the header, whose line and "# text NAME" lines name
/// them. Readers of perp pass over such columns; files with rows of numbers cannot have them.
///
/// @param names  n entries, as for the header; kept until the header is written
PERP_API perp_status perp_trajectory_writer_texts(perp_trajectory_writer *writer, int n,
                                                  const char *const *names);

/// A row with its texts, each on one line.
///
/// @param texts  as many as perp_trajectory_writer_texts were named, each nullable; nullable: all are empty
PERP_API perp_status perp_trajectory_writer_row_texts(perp_trajectory_writer *writer,
                                                      const double *values,
                                                      const char *const *texts);

/// Write a row of n values (n as in the header), each as the shortest text that reads back as it; -0 is
/// written as 0, and in files of numbers every nan as one. Allocates nothing.
PERP_API perp_status perp_trajectory_writer_row(perp_trajectory_writer *writer,
                                                const double *values);

/// Write "# complete: N rows" and give the file its name; or, when a reason is given, write "# stopped: REASON", keep
/// an earlier file, and name the rows perp_trajectory_writer_partial, which the diagnostics say. Flushes and closes.
/// Frees the writer in every case; NULL is fine. The status is that of the whole file: disk full
/// shows here at the latest.
PERP_API perp_status perp_trajectory_writer_close(perp_trajectory_writer *writer,
                                                  const char *stopped, perp_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
