// A language server on standard input and output: requests as promises, what it says by itself to `heard`.
const { spawn } = require("node:child_process");

exports.connect = (command, args, heard, ended) => {
  const server = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
  const waiting = new Map();
  let last = 0, rest = Buffer.alloc(0);

  const take = (message) => {
    if (message.method) return void heard(message.method, message.params);
    const { resolve, reject } = waiting.get(message.id) ?? {};
    waiting.delete(message.id);
    if (message.error) reject?.(new Error(message.error.message));
    else resolve?.(message.result);
  };
  server.stdout.on("data", (bytes) => {
    for (rest = Buffer.concat([rest, bytes]); ; ) {
      const end = rest.indexOf("\r\n\r\n"), length = end < 0 ? NaN : Number(/Content-Length: *(\d+)/i.exec(rest.toString("latin1", 0, end))?.[1]);
      if (!(rest.length >= end + 4 + length)) return;
      const body = rest.toString("utf8", end + 4, end + 4 + length);
      rest = rest.subarray(end + 4 + length);
      take(JSON.parse(body));
    }
  });
  const stop = (why) => {
    for (const { reject } of waiting.values()) reject(new Error(why));
    waiting.clear();
    ended?.(why);
  };
  server.on("error", (error) => stop(error.message));
  server.on("exit", (code) => stop(`ended with ${code}`));
  server.stdin.on("error", () => {}); // it has ended, which is told by "exit"

  const send = (message) => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    server.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    server.stdin.write(body);
  };
  return {
    request: (method, params) => new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      send({ id: last, method, params });
    }),
    notify: (method, params) => send({ method, params }),
    end: () => server.stdin.end(),
  };
};
