// A model in the part of the address behind "#": deflated, in base64 without what addresses give a meaning to.

// Bytes of a model in an address, and of the module: a kilobyte of either may be inflated to a megabyte, again and again.
const MOST_TEXT = 1 << 18,
    MOST_MODULE = 1 << 26;

// What comes out of the stream; throws where it is more than `most` bytes.
async function through(stream, bytes, most = Infinity) {
    const parts = [];
    let length = 0;
    const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
    for (let next; !(next = await reader.read()).done; ) {
        length += next.value.length;
        if (length > most) {
            reader.cancel();
            throw new RangeError(`it holds more than ${most} bytes`);
        }
        parts.push(next.value);
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
}

export function toBase64(bytes) {
    let text = '';
    for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
    return btoa(text);
}

export function fromBase64(text) {
    return Uint8Array.from(atob(text), c => c.charCodeAt(0));
}

export async function unzip(text) {
    return through(new DecompressionStream('gzip'), fromBase64(text), MOST_MODULE);
}

// {text, settings, kind} as "m=...&set=mu:0.3&do=plan".
export async function write({text, settings, kind}) {
    const packed = toBase64(await through(new CompressionStream('deflate-raw'), new TextEncoder().encode(text))),
        part = new URLSearchParams();
    part.set('m', packed.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''));
    for (const [name, value] of Object.entries(settings)) part.append('set', `${name}:${value}`);
    if (kind) part.set('do', kind);
    return '#' + part;
}

// What an address holds; null: no model. Throws where it is damaged.
export async function read(hash) {
    const part = new URLSearchParams(hash.replace(/^#/, '')),
        packed = part.get('m');
    if (!packed) return null;
    const bytes = fromBase64(packed.replaceAll('-', '+').replaceAll('_', '/')),
        text = new TextDecoder('utf-8', {fatal: true}).decode(
            await through(new DecompressionStream('deflate-raw'), bytes, MOST_TEXT),
        ),
        settings = {};
    for (const setting of part.getAll('set')) {
        const colon = setting.lastIndexOf(':'),
            value = Number(setting.slice(colon + 1));
        if (colon > 0 && Number.isFinite(value)) settings[setting.slice(0, colon)] = value;
    }
    const kind = part.get('do');
    return {text, settings, kind: kind === 'plan' || kind === 'simulate' ? kind : null};
}
