// The second half of `make bench`: how fast a release starts, what memory it holds and what the first page costs a browser.
//   node bench/release.mjs BINARY
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { brotliDecompressSync } from 'node:zlib';
import http from 'node:http';

const binary = process.argv[2];
const data = 'target/bench/data';

const port = await new Promise((done) => {
  const probe = createServer().listen(0, '127.0.0.1', () => {
    const { port } = probe.address();
    probe.close(() => done(port));
  });
});
const origin = `http://127.0.0.1:${port}`;

// Not fetch: it would unpack what it gets, and the packed bytes are what counts.
function get(path) {
  return new Promise((done, failed) => {
    const asked = http.get(origin + path, { headers: { 'accept-encoding': 'br', accept: '*/*' } }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => {
        const bytes = Buffer.concat(parts);
        const text = () => (answer.headers['content-encoding'] === 'br' ? brotliDecompressSync(bytes) : bytes).toString();
        done({ status: answer.statusCode, size: bytes.length, text });
      });
    });
    asked.on('error', failed);
  });
}

async function start() {
  const began = performance.now();
  const args = ['demo', '--http', `127.0.0.1:${port}`, '--https', '127.0.0.1:0', '--data-dir', data];
  const server = spawn(binary, args, { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, LOG_LEVEL: 'error' } });
  const ended = new Promise((done) => server.on('exit', done));
  while ((await get('/readyz').catch(() => undefined))?.status !== 200) {
    if (server.exitCode !== null) throw new Error(`the demo ended with ${server.exitCode}`);
    await new Promise((done) => setTimeout(done, 10));
  }
  const stop = () => {
    server.kill('SIGTERM');
    return ended;
  };
  return { pid: server.pid, seconds: (performance.now() - began) / 1000, stop };
}

// The page and all that it names: script, wasm, styles, and the fonts that the styles name.
async function firstPage() {
  const page = await get('/sign-in');
  const sizes = new Map([['/sign-in', page.size]]);
  const queue = [...page.text().matchAll(/\/a\/[^"'\s)<]+\.\w+/g)].map(([path]) => path);
  for (const path of queue) {
    if (sizes.has(path)) continue;
    const answer = await get(path);
    if (answer.status !== 200) throw new Error(`${path} was answered with ${answer.status}`);
    sizes.set(path, answer.size);
    if (!path.endsWith('.css')) continue;
    for (const [, url] of answer.text().matchAll(/url\(["']?([^"')]+)/g)) {
      if (!url.startsWith('data:')) queue.push(new URL(url, origin + path).pathname);
    }
  }
  return sizes;
}

const print = (name, value, unit) => console.log(`${name.padEnd(56)} ${value.padStart(9)} ${unit}`);

// As root PostgreSQL's files may be elsewhere; a file says where.
const moved = `${data}/postgres/moved-to`;
if (existsSync(moved)) rmSync(readFileSync(moved, 'utf8').trim(), { recursive: true, force: true });
rmSync(data, { recursive: true, force: true });

let server = await start();
print('first start, with a new database', server.seconds.toFixed(2), 's');
await server.stop();
server = await start();
print('second start', server.seconds.toFixed(2), 's');
await new Promise((done) => setTimeout(done, 3000));
const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
print('memory, idle', (Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024).toFixed(1), 'MiB');
const sizes = await firstPage();
for (const [path, size] of sizes) print(`  ${path}`, String(size), 'bytes');
print('first page, all of it, as sent', String([...sizes.values()].reduce((a, b) => a + b)), 'bytes');
await server.stop();
