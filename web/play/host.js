// What a WebAssembly module of perp asks of its host (WASI, preview 1): files in memory, a clock, three streams.

const OK = 0,
    BAD_FILE = 8,
    EXISTS = 20,
    INVALID = 28,
    MISSING = 44,
    FULL = 51,
    IS_TERMINAL = 2,
    IS_FOLDER = 3,
    IS_FILE = 4,
    ALL_RIGHTS = 0x1fffffffn,
    SEEK_AND_TELL = (1n << 2n) | (1n << 5n),
    ROOT = 3, // the descriptor of the only folder
    MOST = 512e6; // [B] of a file

class Exit extends Error {
    constructor(code) {
        super(`exit ${code}`);
        this.code = code;
    }
}

class File {
    constructor(bytes = new Uint8Array(0)) {
        this.bytes = bytes;
        this.size = bytes.length;
    }

    write(at, from) {
        const end = at + from.length;
        if (end > this.bytes.length) {
            const room = new Uint8Array(Math.max(end, 2 * this.bytes.length));
            room.set(this.bytes.subarray(0, this.size));
            this.bytes = room;
        }
        this.bytes.set(from, at);
        this.size = Math.max(this.size, end);
    }

    get content() {
        return this.bytes.subarray(0, this.size);
    }
}

// Run the module as `perp ...words` beside files {name: text}. Every text that it says goes to on(stream, text), stream 1 or 2.
// Returns {code, read(name)}: the exit code and the bytes of a file then, or null.
export function run(module, words, files, on = () => {}) {
    const encoder = new TextEncoder(),
        decoder = new TextDecoder(),
        folder = new Map(Object.entries(files).map(([name, text]) => [name, new File(encoder.encode(text))])),
        open = new Map(),
        numbers = new Map(), // of files: what tells two of them apart
        texts = [null, new TextDecoder(), new TextDecoder()];
    let memory = null;

    const view = () => new DataView(memory.buffer),
        bytes = (at, n) => new Uint8Array(memory.buffer, at, n),
        name = (at, n) => decoder.decode(bytes(at, n)).replace(/^(\.?\/)+/, '');

    function number(file) {
        if (!numbers.has(file)) numbers.set(file, BigInt(numbers.size + 10));
        return numbers.get(file);
    }

    function putState(at, type, file) {
        bytes(at, 64).fill(0);
        view().setBigUint64(at + 8, file ? number(file) : 1n, true);
        view().setUint8(at + 16, type);
        view().setBigUint64(at + 24, 1n, true);
        view().setBigUint64(at + 32, BigInt(file ? file.size : 0), true);
    }

    // Strings one behind the other, and where each begins.
    function putList(list, pointers, at) {
        for (const word of list) {
            const text = encoder.encode(word + '\0');
            view().setUint32(pointers, at, true);
            bytes(at, text.length).set(text);
            pointers += 4;
            at += text.length;
        }
        return OK;
    }

    function putSizes(list, count, size) {
        view().setUint32(count, list.length, true);
        view().setUint32(
            size,
            list.reduce((n, word) => n + encoder.encode(word).length + 1, 0),
            true,
        );
        return OK;
    }

    // Each of the n pieces of memory that a call names, until one is not filled; the sum of what `each` answers.
    function pieces(at, n, done, each) {
        let sum = 0;
        for (let i = 0; i < n; i++) {
            const piece = bytes(view().getUint32(at + 8 * i, true), view().getUint32(at + 8 * i + 4, true)),
                used = each(piece);
            sum += used;
            if (used < piece.length) break;
        }
        view().setUint32(done, sum, true);
        return OK;
    }

    function typeOf(fd) {
        return fd === ROOT ? IS_FOLDER : fd < ROOT ? IS_TERMINAL : IS_FILE;
    }

    const list = ['perp', ...words];
    const system = {
        args_get: (pointers, at) => putList(list, pointers, at),
        args_sizes_get: (count, size) => putSizes(list, count, size),
        environ_get: () => OK,
        environ_sizes_get: (count, size) => putSizes([], count, size),
        clock_time_get(id, precision, at) {
            const now = id === 0 ? Date.now() : performance.now(); // [ms]
            view().setBigUint64(at, BigInt(Math.round(now * 1e6)), true);
            return OK;
        },
        fd_close(fd) {
            return open.delete(fd) ? OK : BAD_FILE;
        },
        fd_fdstat_get(fd, at) {
            if (fd > ROOT && !open.has(fd)) return BAD_FILE;
            bytes(at, 24).fill(0);
            view().setUint8(at, typeOf(fd));
            view().setBigUint64(at + 8, fd < ROOT ? ALL_RIGHTS & ~SEEK_AND_TELL : ALL_RIGHTS, true);
            view().setBigUint64(at + 16, ALL_RIGHTS, true);
            return OK;
        },
        fd_fdstat_set_flags: () => OK,
        fd_filestat_get(fd, at) {
            if (fd > ROOT && !open.has(fd)) return BAD_FILE;
            putState(at, typeOf(fd), fd > ROOT ? open.get(fd).file : null);
            return OK;
        },
        fd_prestat_get(fd, at) {
            if (fd !== ROOT) return BAD_FILE;
            view().setUint32(at, 0, true);
            view().setUint32(at + 4, 1, true);
            return OK;
        },
        fd_prestat_dir_name(fd, at) {
            bytes(at, 1)[0] = 47; // "/"
            return OK;
        },
        fd_read(fd, at, n, done) {
            const place = open.get(fd);
            if (fd === 0) return pieces(at, 0, done);
            if (!place) return BAD_FILE;
            return pieces(at, n, done, piece => {
                const part = place.file.content.subarray(place.at, place.at + piece.length);
                piece.set(part);
                place.at += part.length;
                return part.length;
            });
        },
        fd_seek(fd, offset, from, at) {
            const place = open.get(fd);
            if (!place) return BAD_FILE;
            const to = Number(offset) + [0, place.at, place.file.size][from];
            if (to < 0) return INVALID;
            place.at = to;
            view().setBigUint64(at, BigInt(to), true);
            return OK;
        },
        fd_write(fd, at, n, done) {
            const place = open.get(fd);
            if (fd !== 1 && fd !== 2 && !place) return BAD_FILE;
            if (place && place.at > MOST) return FULL;
            return pieces(at, n, done, piece => {
                if (place) {
                    place.file.write(place.at, piece);
                    place.at += piece.length;
                } else {
                    on(fd, texts[fd].decode(piece, {stream: true}));
                }
                return piece.length;
            });
        },
        path_filestat_get(fd, flags, path, n, at) {
            const which = name(path, n),
                file = folder.get(which);
            if (!file && which !== '' && which !== '.') return MISSING;
            putState(at, file ? IS_FILE : IS_FOLDER, file);
            return OK;
        },
        path_open(fd, lookup, path, n, how, rights, inherited, flags, at) {
            const CREATE = 1,
                EXCLUSIVE = 4,
                TRUNCATE = 8,
                which = name(path, n);
            let file = folder.get(which);
            if (!file && !(how & CREATE)) return MISSING;
            if (file && how & EXCLUSIVE) return EXISTS;
            if (!file) folder.set(which, (file = new File()));
            if (how & TRUNCATE) file.size = 0;
            let next = ROOT + 1;
            while (open.has(next)) next++;
            open.set(next, {file, at: flags & 1 ? file.size : 0});
            view().setUint32(at, next, true);
            return OK;
        },
        path_readlink: (fd, path, n) => (folder.has(name(path, n)) ? INVALID : MISSING),
        path_remove_directory: () => MISSING,
        path_rename(fd, path, n, to, toPath, toN) {
            const file = folder.get(name(path, n));
            if (!file) return MISSING;
            folder.delete(name(path, n));
            folder.set(name(toPath, toN), file);
            return OK;
        },
        path_unlink_file: (fd, path, n) => (folder.delete(name(path, n)) ? OK : MISSING),
        proc_exit(code) {
            throw new Exit(code);
        },
    };
    // What the module may name and has not (absent.txt).
    const absent = {};
    for (const part of WebAssembly.Module.imports(module).filter(i => i.module === 'env'))
        absent[part.name] = () => {
            throw new Error(`${part.name} is not in the playground`);
        };
    const instance = new WebAssembly.Instance(module, {wasi_snapshot_preview1: system, env: absent});
    memory = instance.exports.memory;
    let code = 0;
    try {
        instance.exports._start();
    } catch (end) {
        if (!(end instanceof Exit)) throw end;
        code = end.code;
    }
    return {code, read: which => folder.get(which)?.content ?? null};
}
