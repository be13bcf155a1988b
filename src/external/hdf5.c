/* HDF5's C interface, loaded when it is first asked for. Debian's serial library is not for several
 * threads: a lock is around each use. Types and classes are variables of the library, which its
 * header's macros would link: they are looked up like functions. */

#include "external/hdf5.h"

#ifdef PERP_HAVE_HDF5

#include "base/input.h"
#include "external/library.h"

#include <errno.h>
#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    __typeof__(H5dont_atexit) *no_end;
    __typeof__(H5open) *open;
    __typeof__(H5Eset_auto2) *set_messages;
    __typeof__(H5Fopen) *open_file;
    __typeof__(H5Fcreate) *create_file;
    __typeof__(H5FDregister) *register_channel;
    __typeof__(H5Pset_driver) *set_channel;
    __typeof__(H5Pget_chunk) *chunk_of;
    __typeof__(H5Pget_layout) *layout_of;
    __typeof__(H5Fclose) *close_file;
    __typeof__(H5Lexists) *exists;
    __typeof__(H5Dopen2) *open_array;
    __typeof__(H5Dcreate2) *create_array;
    __typeof__(H5Dread) *read;
    __typeof__(H5Dwrite) *write;
    __typeof__(H5Dget_space) *space_of;
    __typeof__(H5Dget_type) *type_of;
    __typeof__(H5Dget_storage_size) *stored;
    __typeof__(H5Dget_create_plist) *made_by;
    __typeof__(H5Dclose) *close_array;
    __typeof__(H5Screate_simple) *create_space;
    __typeof__(H5Sget_simple_extent_npoints) *count;
    __typeof__(H5Sget_simple_extent_ndims) *axes;
    __typeof__(H5Sselect_hyperslab) *select;
    __typeof__(H5Sclose) *close_space;
    __typeof__(H5Tget_class) *class_of;
    __typeof__(H5Tget_size) *size_of;
    __typeof__(H5Tis_variable_str) *is_variable;
    __typeof__(H5Tcopy) *copy_type;
    __typeof__(H5Tset_size) *set_size;
    __typeof__(H5Tclose) *close_type;
    __typeof__(H5Pcreate) *create_list;
    __typeof__(H5Pset_create_intermediate_group) *set_groups;
    __typeof__(H5Pget_external_count) *other_files;
    __typeof__(H5Pset_obj_track_times) *set_times;
    __typeof__(H5Pset_chunk) *set_chunk;
    __typeof__(H5Dset_extent) *extend;
    __typeof__(H5Pclose) *close_list;
    hid_t *native_int, *native_double, *text, *link_class, *array_class, *access_class;
} h5;

/* Values of H5public.h and H5Fpublic.h, whose macros call the library. */
enum { READ_ONLY = 0, TRUNCATE = 2, ALL = 0, DEFAULTS = 0 };

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static perp_status load(void)
{
    static int state;
    const perp__library_symbol symbol[] = {{"H5dont_atexit", &h5.no_end},
                                           {"H5open", &h5.open},
                                           {"H5Eset_auto2", &h5.set_messages},
                                           {"H5Fopen", &h5.open_file},
                                           {"H5Fcreate", &h5.create_file},
                                           {"H5FDregister", &h5.register_channel},
                                           {"H5Pset_driver", &h5.set_channel},
                                           {"H5Pget_chunk", &h5.chunk_of},
                                           {"H5Pget_layout", &h5.layout_of},
                                           {"H5Fclose", &h5.close_file},
                                           {"H5Lexists", &h5.exists},
                                           {"H5Dopen2", &h5.open_array},
                                           {"H5Dcreate2", &h5.create_array},
                                           {"H5Dread", &h5.read},
                                           {"H5Dwrite", &h5.write},
                                           {"H5Dget_space", &h5.space_of},
                                           {"H5Dget_type", &h5.type_of},
                                           {"H5Dget_storage_size", &h5.stored},
                                           {"H5Dget_create_plist", &h5.made_by},
                                           {"H5Dclose", &h5.close_array},
                                           {"H5Screate_simple", &h5.create_space},
                                           {"H5Sget_simple_extent_npoints", &h5.count},
                                           {"H5Sget_simple_extent_ndims", &h5.axes},
                                           {"H5Sselect_hyperslab", &h5.select},
                                           {"H5Sclose", &h5.close_space},
                                           {"H5Tget_class", &h5.class_of},
                                           {"H5Tget_size", &h5.size_of},
                                           {"H5Tis_variable_str", &h5.is_variable},
                                           {"H5Tcopy", &h5.copy_type},
                                           {"H5Tset_size", &h5.set_size},
                                           {"H5Tclose", &h5.close_type},
                                           {"H5Pcreate", &h5.create_list},
                                           {"H5Pset_create_intermediate_group", &h5.set_groups},
                                           {"H5Pget_external_count", &h5.other_files},
                                           {"H5Pset_obj_track_times", &h5.set_times},
                                           {"H5Pset_chunk", &h5.set_chunk},
                                           {"H5Dset_extent", &h5.extend},
                                           {"H5Pclose", &h5.close_list},
                                           {"H5T_NATIVE_INT_g", &h5.native_int},
                                           {"H5T_NATIVE_DOUBLE_g", &h5.native_double},
                                           {"H5T_C_S1_g", &h5.text},
                                           {"H5P_CLS_LINK_CREATE_ID_g", &h5.link_class},
                                           {"H5P_CLS_DATASET_CREATE_ID_g", &h5.array_class},
                                           {"H5P_CLS_FILE_ACCESS_ID_g", &h5.access_class}};
    return perp__library_load(PERP_HAVE_HDF5, sizeof symbol / sizeof *symbol, symbol, &state);
}

struct perp__hdf5 {
    hid_t id, rows; /* rows: the array that grows, or -1 */
    hsize_t row, columns;
    int is_written;
    FILE *file;  /* ours for reading, the caller's for writing */
    int error;   /* errno of the first failure of the channel, or 0 */
    char name[]; /* in messages */
};

/* Enter the library, and leave it. */
static void enter(void)
{
    pthread_mutex_lock(&one);
    perp__library_enter("HDF5");
    perp__library_watch();
}

/* PERP_ERR_MEMORY: it ran out in the library. */
static perp_status leave(void)
{
    perp_status status = perp__library_lacked_memory() ? PERP_ERR_MEMORY : PERP_OK;
    perp__library_enter(NULL);
    pthread_mutex_unlock(&one);
    return status;
}

/* The channel ---------------------------------------------------------------------------------- */

/* HDF5 reads and writes through descriptors of the gate and of base/output.h. It opens no file by a
 * name, neither the requested one nor one that a link names. A failed write is remembered and not
 * reported to HDF5. Version 1.10 keeps the identifier of a file that it cannot close. The memory of
 * that file is gone, and HDF5 uses it at the end of the process. */
typedef struct channel {
    H5FD_t public;
    perp__hdf5 *of;
    haddr_t allocated, end;
} channel;

static perp__hdf5 *opening; /* set while HDF5 is asked to open it */

static H5FD_t *channel_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    struct stat is;
    (void)name;
    (void)flags;
    (void)access;
    (void)most;
    if (!opening || fstat(fileno(opening->file), &is) != 0) return NULL;
    channel *c = calloc(1, sizeof *c);
    if (!c) errno = ENOMEM; /* perp__library_lacked_memory */
    if (!c) return NULL;
    c->of = opening;
    c->end = (haddr_t)is.st_size;
    return &c->public;
}

static herr_t channel_close(H5FD_t *file)
{
    free(file);
    return 0;
}

static herr_t channel_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

static haddr_t channel_get_allocated(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const channel *)file)->allocated;
}

static herr_t channel_set_allocated(H5FD_t *file, H5FD_mem_t type, haddr_t at)
{
    (void)type;
    ((channel *)file)->allocated = at;
    return 0;
}

static haddr_t channel_end(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const channel *)file)->end;
}

/* Behind the end are zeros. */
static herr_t channel_read(H5FD_t *file, H5FD_mem_t type, hid_t how, haddr_t at, size_t n,
                           void *bytes)
{
    const channel *c = (const channel *)file;
    (void)type;
    (void)how;
    for (char *to = bytes; n > 0;) {
        ssize_t got = pread(fileno(c->of->file), to, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) {
            memset(to, 0, n);
            got = (ssize_t)n;
        }
        to += got;
        at += (haddr_t)got;
        n -= (size_t)got;
    }
    return 0;
}

static herr_t channel_write(H5FD_t *file, H5FD_mem_t type, hid_t how, haddr_t at, size_t n,
                            const void *bytes)
{
    channel *c = (channel *)file;
    (void)type;
    (void)how;
    if (at + n > c->end) c->end = at + n;
    for (const char *from = bytes; n > 0 && !c->of->error;) {
        ssize_t put = pwrite(fileno(c->of->file), from, n, (off_t)at);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) c->of->error = errno;
        if (put >= 0) {
            from += put;
            at += (haddr_t)put;
            n -= (size_t)put;
        }
    }
    return 0;
}

static herr_t channel_truncate(H5FD_t *file, hid_t how, hbool_t closing)
{
    channel *c = (channel *)file;
    (void)how;
    (void)closing;
    if (!c->of->is_written || c->of->error || c->allocated == c->end) return 0;
    if (ftruncate(fileno(c->of->file), (off_t)c->allocated) != 0) c->of->error = errno;
    c->end = c->allocated;
    return 0;
}

static const H5FD_class_t channel_class = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)511, /* of those for private use */
#endif
    .name = "perp",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .open = channel_open,
    .close = channel_close,
    .query = channel_query,
    .get_eoa = channel_get_allocated,
    .set_eoa = channel_set_allocated,
    .get_eof = channel_end,
    .read = channel_read,
    .write = channel_write,
    .truncate = channel_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY};

/* How files are opened: by the channel. Returns -1: HDF5 has no memory for it. */
static hid_t access_by_channel(void)
{
    static hid_t how = H5I_INVALID_HID, class = H5I_INVALID_HID;
    if (class < 0) class = h5.register_channel(&channel_class);
    if (how < 0 && class >= 0) how = h5.create_list(*h5.access_class);
    return how >= 0 && h5.set_channel(how, class, NULL) >= 0 ? how : H5I_INVALID_HID;
}

/* Files ---------------------------------------------------------------------------------------- */

static perp_status begin(perp_diag *diag, const char *name)
{
    perp_status status = load();
    if (status == PERP_ERR_UNAVAILABLE)
        return perp__refuse(diag, status, perp__in(name),
                            "HDF5 files need " PERP_HAVE_HDF5 ", which is not installed\n");
    if (status != PERP_OK) return status;
    enter();
    /* at its own end it closes a damaged file again that it could not close: a bad address. Where
     * it runs already this changes nothing */
    h5.no_end();
    int ok = h5.open() >= 0 && h5.set_messages(H5E_DEFAULT, NULL, NULL) >= 0;
    status = leave();
    return status == PERP_OK && !ok ? PERP_ERR_MEMORY : status;
}

static perp__hdf5 *create(const char *name, FILE *from, int is_written)
{
    size_t size = strlen(name) + 1;
    perp__hdf5 *file = malloc(sizeof *file + size);
    if (!file) return NULL;
    *file = (perp__hdf5){
        .id = H5I_INVALID_HID, .rows = H5I_INVALID_HID, .is_written = is_written, .file = from};
    memcpy(file->name, name, size);
    return file;
}

/* Open or create; PERP_ERR_FILE: HDF5 does not. */
static perp_status enter_file(perp__hdf5 *file)
{
    enter();
    hid_t how = access_by_channel();
    opening = file;
    if (how >= 0)
        file->id = file->is_written ? h5.create_file(file->name, TRUNCATE, DEFAULTS, how)
                                    : h5.open_file(file->name, READ_ONLY, how);
    opening = NULL;
    perp_status status = leave();
    if (status != PERP_OK) return status;
    if (file->id >= 0) return PERP_OK;
    return PERP_ERR_FILE;
}

perp_status perp__hdf5_open(const char *path, perp__hdf5 **out, perp_diag *diag)
{
    static const char mark[8] = "\x89HDF\r\n\x1a\n";
    char first[sizeof mark];
    FILE *from;
    const char *why;
    *out = NULL;
    perp_status status = perp__input_open(path, PERP__REGULAR, SIZE_MAX, &from, &why);
    if (status == PERP_ERR_FILE)
        perp__refuse(diag, status, perp__in(path), "cannot be read: %s\n", why);
    if (status == PERP_OK) status = begin(diag, path);
    perp__hdf5 *file = status == PERP_OK ? create(path, from, 0) : NULL;
    if (status == PERP_OK && !file) status = PERP_ERR_MEMORY;
    if (!file) perp__input_close(from);
    if (status != PERP_OK) return status;
    status = enter_file(file);
    if (status == PERP_OK) {
        *out = file;
        return PERP_OK;
    }
    int is_hdf5 = pread(fileno(from), first, sizeof first, 0) == sizeof first &&
                  memcmp(first, mark, sizeof mark) == 0;
    perp__hdf5_close(file, NULL);
    if (status != PERP_ERR_FILE) return status;
    return perp__refuse(diag, PERP_ERR_DATA, perp__in(path),
                        is_hdf5 ? "is an HDF5 file that cannot be opened: it is damaged\n"
                                : "is no HDF5 file\n");
}

/* errno is the reason, where the channel knows one. */
static perp_status not_written(perp_diag *diag, const perp__hdf5 *file)
{
    int error = file->error;
    perp__refuse(diag, PERP_ERR_FILE, perp__in(file->name), "cannot be written%s%s\n",
                 error ? ": " : "", error ? strerror(error) : "");
    errno = error;
    return PERP_ERR_FILE;
}

perp_status perp__hdf5_create(FILE *to, const char *name, perp__hdf5 **out, perp_diag *diag)
{
    *out = NULL;
    perp_status status = begin(diag, name);
    perp__hdf5 *file = status == PERP_OK ? create(name, to, 1) : NULL;
    if (status == PERP_OK && !file) status = PERP_ERR_MEMORY;
    if (status != PERP_OK) return status;
    status = enter_file(file);
    if (status == PERP_OK) {
        *out = file;
        return PERP_OK;
    }
    if (status == PERP_ERR_FILE) not_written(diag, file);
    perp__hdf5_close(file, NULL);
    return status;
}

perp_status perp__hdf5_close(perp__hdf5 *file, perp_diag *diag)
{
    if (!file) return PERP_OK;
    enter();
    int ok = file->rows < 0 || h5.close_array(file->rows) >= 0;
    ok &= file->id < 0 || h5.close_file(file->id) >= 0;
    ok &= !file->error;
    perp_status status = leave();
    if (!file->is_written) perp__input_close(file->file);
    if (status == PERP_OK && !ok && file->is_written) status = not_written(diag, file);
    free(file);
    return status;
}

/* Reading -------------------------------------------------------------------------------------- */

/* Each group on the way has to be looked for: the library takes a missing one for an error. */
static int has(perp__hdf5 *file, const char *path)
{
    char part[256];
    size_t n = strlen(path);
    if (n >= sizeof part) return 0;
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i]) continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (h5.exists(file->id, part, DEFAULTS) <= 0) return 0;
    }
    return 1;
}

int perp__hdf5_has(perp__hdf5 *file, const char *path)
{
    enter();
    int found = has(file, path);
    (void)leave();
    return found;
}

/* Numbers of any size have a class: HDF5 takes memory for each of their bytes. */
static H5T_class_t class_of(hid_t array)
{
    const size_t LARGEST = sizeof(long double);
    hid_t type = h5.type_of(array);
    H5T_class_t class = type >= 0 && h5.size_of(type) <= LARGEST ? h5.class_of(type) : H5T_NO_CLASS;
    if (type >= 0) h5.close_type(type);
    return class;
}

static long long count_of(hid_t array)
{
    hid_t space = h5.space_of(array);
    long long n = space >= 0 ? (long long)h5.count(space) : -1;
    if (space >= 0) h5.close_space(space);
    return n;
}

/* Values that HDF5 reads at once: of a chunk, where there are chunks. */
static double values_at_once(hid_t list)
{
    enum { MOST = 32 };
    hsize_t size[MOST];
    double n = 0;
    int axes = h5.layout_of(list) == H5D_CHUNKED ? h5.chunk_of(list, MOST, size) : 0;
    for (int i = 0; i < axes && i < MOST; i++) n = (i ? n : 1) * (double)size[i];
    return n;
}

/* Does the file itself hold the values? An array may be in other files, or of any size and nowhere:
 * what is not stored reads as zeros. No filter packs numbers as tight as that. */
static int is_stored(hid_t array, long long n)
{
    const double MOST = 4096;
    hid_t list = h5.made_by(array);
    int others = list >= 0 ? h5.other_files(list) : -1;
    double at_once = list >= 0 ? values_at_once(list) : 0, most = MOST * (double)h5.stored(array);
    if (list >= 0) h5.close_list(list);
    return others == 0 && (double)n <= most && at_once <= most;
}

long long perp__hdf5_count(perp__hdf5 *file, const char *path)
{
    enter();
    hid_t array = has(file, path) ? h5.open_array(file->id, path, DEFAULTS) : H5I_INVALID_HID;
    H5T_class_t class = array >= 0 ? class_of(array) : H5T_NO_CLASS;
    long long n = class == H5T_INTEGER || class == H5T_FLOAT ? count_of(array) : -1;
    if (n > 0 && !is_stored(array, n)) n = -2;
    if (array >= 0) h5.close_array(array);
    (void)leave();
    return n;
}

/* The first `count` of n values. */
static int read_first(hid_t array, long long count, long long n, hid_t type, void *out)
{
    const hsize_t start = 0, size = (hsize_t)count;
    if (count == n) return h5.read(array, type, ALL, ALL, DEFAULTS, out) >= 0;
    hid_t from = h5.space_of(array), to = h5.create_space(1, &size, NULL);
    int ok = from >= 0 && to >= 0 && h5.axes(from) == 1 &&
             h5.select(from, H5S_SELECT_SET, &start, NULL, &size, NULL) >= 0 &&
             h5.read(array, type, to, from, DEFAULTS, out) >= 0;
    if (from >= 0) h5.close_space(from);
    if (to >= 0) h5.close_space(to);
    return ok;
}

static perp_status read_all(perp__hdf5 *file, const char *path, long long count, int or_more,
                            H5T_class_t class, void *out, perp_diag *diag)
{
    const char *const what = class == H5T_INTEGER ? "whole numbers" : "numbers";
    hid_t type = class == H5T_INTEGER ? *h5.native_int : *h5.native_double;
    perp__place place = perp__in(file->name);
    enter();
    int is_there = has(file, path);
    hid_t array = is_there ? h5.open_array(file->id, path, DEFAULTS) : H5I_INVALID_HID;
    H5T_class_t found = array >= 0 ? class_of(array) : H5T_NO_CLASS;
    long long n = array >= 0 ? count_of(array) : -1;
    int is_right = found == class || (class == H5T_FLOAT && found == H5T_INTEGER),
        fits = is_right && (n == count || (or_more && n > count)),
        is_here = fits && (count == 0 || is_stored(array, n));
    int ok = is_here && (count == 0 || read_first(array, count, n, type, out));
    if (array >= 0) h5.close_array(array);
    perp_status status = leave();
    if (status != PERP_OK) return status;
    if (!is_there)
        return perp__refuse(diag, PERP_ERR_DATA, place, "has no '%s': %lld %s\n", path, count,
                            what);
    if (!is_right)
        return perp__refuse(diag, PERP_ERR_DATA, place, "'%s' must be an array of %s\n", path,
                            what);
    if (!fits)
        return perp__refuse(diag, PERP_ERR_DATA, place,
                            "'%s' has %lld entries where %lld are needed\n", path, n, count);
    if (!is_here)
        return perp__refuse(diag, PERP_ERR_DATA, place,
                            "'%s' has %lld entries that are not stored in this file\n", path, n);
    if (!ok) return perp__refuse(diag, PERP_ERR_DATA, place, "'%s' cannot be read\n", path);
    return PERP_OK;
}

perp_status perp__hdf5_ints(perp__hdf5 *file, const char *path, long long count, int or_more,
                            int *out, perp_diag *diag)
{
    return read_all(file, path, count, or_more, H5T_INTEGER, out, diag);
}

perp_status perp__hdf5_doubles(perp__hdf5 *file, const char *path, long long count, int or_more,
                               double *out, perp_diag *diag)
{
    return read_all(file, path, count, or_more, H5T_FLOAT, out, diag);
}

/* The text of an array of one text of fixed length. */
static void read_text(hid_t array, size_t size, char *out)
{
    const size_t LONGEST = (size_t)1 << 20;
    hid_t type = h5.type_of(array);
    size_t length = type >= 0 && h5.class_of(type) == H5T_STRING && h5.is_variable(type) == 0
                        ? h5.size_of(type)
                        : 0;
    char *whole =
        length > 0 && length <= LONGEST && count_of(array) == 1 ? calloc(length + 1, 1) : NULL;
    if (whole && h5.read(array, type, ALL, ALL, DEFAULTS, whole) >= 0) {
        size_t n = strlen(whole) < size ? strlen(whole) : size - 1;
        memcpy(out, whole, n);
        out[n] = 0;
    }
    free(whole);
    if (type >= 0) h5.close_type(type);
}

void perp__hdf5_text(perp__hdf5 *file, const char *path, size_t size, char *out)
{
    out[0] = 0;
    enter();
    hid_t array = has(file, path) ? h5.open_array(file->id, path, DEFAULTS) : H5I_INVALID_HID;
    if (array >= 0) {
        read_text(array, size, out);
        h5.close_array(array);
    }
    (void)leave();
}

/* Writing -------------------------------------------------------------------------------------- */

/* An array in this space, which is closed; chunk: NULL, or what is stored together. No time is in
 * it, so that the same numbers are the same bytes. */
static hid_t create_array(perp__hdf5 *file, const char *path, hid_t type, hid_t space,
                          const hsize_t *chunk)
{
    hid_t list = h5.create_list(*h5.link_class), how = h5.create_list(*h5.array_class),
          array = H5I_INVALID_HID;
    if (space >= 0 && list >= 0 && how >= 0 && h5.set_groups(list, 1) >= 0 &&
        h5.set_times(how, 0) >= 0 && (!chunk || h5.set_chunk(how, 2, chunk) >= 0))
        array = h5.create_array(file->id, path, type, space, list, how, DEFAULTS);
    if (how >= 0) h5.close_list(how);
    if (list >= 0) h5.close_list(list);
    if (space >= 0) h5.close_space(space);
    return array;
}

static int write_array(perp__hdf5 *file, const char *path, hid_t type, hsize_t count,
                       const void *value)
{
    hid_t array = create_array(file, path, type, h5.create_space(1, &count, NULL), NULL);
    int ok = array >= 0 && (count == 0 || h5.write(array, type, ALL, ALL, DEFAULTS, value) >= 0);
    if (array >= 0) ok &= h5.close_array(array) >= 0;
    return ok;
}

/* Behind the rows that are there. */
static int add_rows(perp__hdf5 *file, hsize_t n, const double *value)
{
    const hsize_t size[2] = {file->row + n, file->columns}, start[2] = {file->row, 0},
                  count[2] = {n, file->columns};
    if (file->rows < 0 || h5.extend(file->rows, size) < 0) return 0;
    hid_t to = h5.space_of(file->rows), from = h5.create_space(2, count, NULL);
    int ok = to >= 0 && from >= 0 && h5.select(to, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
             h5.write(file->rows, *h5.native_double, from, to, DEFAULTS, value) >= 0;
    if (from >= 0) h5.close_space(from);
    if (to >= 0) h5.close_space(to);
    file->row += n;
    return ok;
}

perp_status perp__hdf5_begin_rows(perp__hdf5 *file, const char *path, int columns, int block,
                                  perp_diag *diag)
{
    const hsize_t none[2] = {0, (hsize_t)columns}, most[2] = {H5S_UNLIMITED, (hsize_t)columns},
                  chunk[2] = {(hsize_t)block, (hsize_t)columns};
    enter();
    file->columns = (hsize_t)columns;
    file->rows = create_array(file, path, *h5.native_double, h5.create_space(2, none, most), chunk);
    perp_status status = leave();
    return status == PERP_OK && (file->rows < 0 || file->error) ? not_written(diag, file) : status;
}

perp_status perp__hdf5_add_rows(perp__hdf5 *file, int n, const double *value, perp_diag *diag)
{
    enter();
    int ok = add_rows(file, (hsize_t)n, value);
    perp_status status = leave();
    return status == PERP_OK && (!ok || file->error) ? not_written(diag, file) : status;
}

static perp_status put(perp__hdf5 *file, const char *path, hid_t type, long long count,
                       const void *value, perp_diag *diag)
{
    enter();
    int ok = write_array(file, path, type, (hsize_t)count, value);
    perp_status status = leave();
    return status == PERP_OK && (!ok || file->error) ? not_written(diag, file) : status;
}

perp_status perp__hdf5_put_ints(perp__hdf5 *file, const char *path, long long count,
                                const int *value, perp_diag *diag)
{
    return put(file, path, *h5.native_int, count, value, diag);
}

perp_status perp__hdf5_put_doubles(perp__hdf5 *file, const char *path, long long count,
                                   const double *value, perp_diag *diag)
{
    return put(file, path, *h5.native_double, count, value, diag);
}

perp_status perp__hdf5_put_texts(perp__hdf5 *file, const char *path, int n, const char *const *text,
                                 perp_diag *diag)
{
    size_t size = 1;
    for (int i = 0; i < n; i++) size = strlen(text[i]) + 1 > size ? strlen(text[i]) + 1 : size;
    char *all = calloc((size_t)n + 1, size);
    if (!all) return PERP_ERR_MEMORY;
    for (int i = 0; i < n; i++) strcpy(all + (size_t)i * size, text[i]);
    enter();
    hid_t type = h5.copy_type(*h5.text);
    int ok =
        type >= 0 && h5.set_size(type, size) >= 0 && write_array(file, path, type, (hsize_t)n, all);
    if (type >= 0) h5.close_type(type);
    perp_status status = leave();
    free(all);
    return status == PERP_OK && (!ok || file->error) ? not_written(diag, file) : status;
}

perp_status perp__hdf5_put_text(perp__hdf5 *file, const char *path, const char *text,
                                perp_diag *diag)
{
    return perp__hdf5_put_texts(file, path, 1, &text, diag);
}

#else

static perp_status lacking(const char *name, perp_diag *diag)
{
    return perp__refuse(diag, PERP_ERR_UNAVAILABLE, perp__in(name),
                        "this build has no HDF5: configure it again with libhdf5-dev installed\n");
}

perp_status perp__hdf5_open(const char *path, perp__hdf5 **file, perp_diag *diag)
{
    *file = NULL;
    return lacking(path, diag);
}

perp_status perp__hdf5_create(FILE *to, const char *name, perp__hdf5 **file, perp_diag *diag)
{
    (void)to;
    *file = NULL;
    return lacking(name, diag);
}

perp_status perp__hdf5_close(perp__hdf5 *file, perp_diag *diag)
{
    (void)file;
    (void)diag;
    return PERP_OK;
}

int perp__hdf5_has(perp__hdf5 *file, const char *path)
{
    (void)file;
    (void)path;
    return 0;
}

long long perp__hdf5_count(perp__hdf5 *file, const char *path)
{
    (void)file;
    (void)path;
    return -1;
}

perp_status perp__hdf5_ints(perp__hdf5 *file, const char *path, long long count, int or_more,
                            int *out, perp_diag *diag)
{
    (void)file;
    (void)count;
    (void)or_more;
    (void)out;
    return lacking(path, diag);
}

perp_status perp__hdf5_doubles(perp__hdf5 *file, const char *path, long long count, int or_more,
                               double *out, perp_diag *diag)
{
    (void)file;
    (void)count;
    (void)or_more;
    (void)out;
    return lacking(path, diag);
}

void perp__hdf5_text(perp__hdf5 *file, const char *path, size_t size, char *out)
{
    (void)file;
    (void)path;
    (void)size;
    out[0] = 0;
}

perp_status perp__hdf5_put_ints(perp__hdf5 *file, const char *path, long long count,
                                const int *value, perp_diag *diag)
{
    (void)file;
    (void)count;
    (void)value;
    return lacking(path, diag);
}

perp_status perp__hdf5_put_doubles(perp__hdf5 *file, const char *path, long long count,
                                   const double *value, perp_diag *diag)
{
    (void)file;
    (void)count;
    (void)value;
    return lacking(path, diag);
}

perp_status perp__hdf5_put_text(perp__hdf5 *file, const char *path, const char *text,
                                perp_diag *diag)
{
    (void)file;
    (void)text;
    return lacking(path, diag);
}

perp_status perp__hdf5_put_texts(perp__hdf5 *file, const char *path, int n, const char *const *text,
                                 perp_diag *diag)
{
    (void)file;
    (void)n;
    (void)text;
    return lacking(path, diag);
}

perp_status perp__hdf5_begin_rows(perp__hdf5 *file, const char *path, int columns, int block,
                                  perp_diag *diag)
{
    (void)file;
    (void)columns;
    (void)block;
    return lacking(path, diag);
}

perp_status perp__hdf5_add_rows(perp__hdf5 *file, int n, const double *value, perp_diag *diag)
{
    (void)file;
    (void)n;
    (void)value;
    return lacking("", diag);
}

#endif
