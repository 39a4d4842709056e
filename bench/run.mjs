// `make bench`: what a release costs a browser, a server and a database. Prints a table and keeps it in bench/results.
//   node bench/run.mjs BINARY [SCALE]     SCALE multiplies the demo's data, 100 unless told
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createServer } from 'node:net';
import os from 'node:os';

const [binary, scale = '100'] = process.argv.slice(2);
const data = 'target/bench/data';
const lists = ['/provider/organizations', '/provider/users', '/provider/tasks', '/provider/events', '/provider/audit'];
const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });

const port = await new Promise((done) => {
  const probe = createServer().listen(0, '127.0.0.1', () => {
    const { port } = probe.address();
    probe.close(() => done(port));
  });
});
const origin = `http://127.0.0.1:${port}`;

// As root PostgreSQL's files may be elsewhere; a file says where.
function postgres(file) {
  const moved = `${data}/postgres/moved-to`;
  return `${existsSync(moved) ? readFileSync(moved, 'utf8').trim() : `${data}/postgres`}/${file}`;
}

function request(path, { method = 'GET', headers = {}, body } = {}) {
  return new Promise((done, failed) => {
    const started = performance.now();
    const sent = http.request(origin + path, { method, agent, headers: { 'accept-encoding': 'br', ...headers } }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => {
        const bytes = Buffer.concat(parts);
        done({ status: answer.statusCode, headers: answer.headers, bytes, ms: performance.now() - started });
      });
    });
    sent.on('error', failed);
    sent.end(body);
  });
}

async function start() {
  const began = performance.now();
  const server = spawn(binary, ['demo', '--http', `127.0.0.1:${port}`, '--https', '127.0.0.1:0', '--data-dir', data, '--seed-scale', scale], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, DATABASE_URL: undefined, LOG_LEVEL: 'warn' },
  });
  const ended = new Promise((done) => server.on('exit', done));
  for (;;) {
    const answer = await request('/readyz').catch(() => undefined);
    if (answer?.status === 200) break;
    if (server.exitCode !== null) throw new Error(`the demo ended with ${server.exitCode}`);
    await new Promise((done) => setTimeout(done, 20));
  }
  const stop = async () => {
    server.kill('SIGTERM');
    await ended;
  };
  return { pid: server.pid, ms: performance.now() - began, stop };
}

const memory = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

async function signIn() {
  const answer = await request('/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin', origin },
    body: new URLSearchParams({ org: 'System', user: 'administrator', password: 'ssvirt-demo' }).toString(),
  });
  if (answer.status !== 303) throw new Error(`signing in was answered with ${answer.status}`);
  return answer.headers['set-cookie'].map((cookie) => cookie.split(';')[0]).join('; ');
}

// The page itself and everything it names: styles, scripts, the wasm beside its script, fonts in the styles.
async function firstPage() {
  const { brotliDecompressSync } = await import('node:zlib');
  const text = ({ headers, bytes }) => (headers['content-encoding'] === 'br' ? brotliDecompressSync(bytes) : bytes).toString();
  const page = await request('/sign-in');
  const sizes = { '/sign-in': page.bytes.length };
  const queue = [...text(page).matchAll(/["'(](\/a\/[^"')\s]+)/g)].map((found) => found[1]);
  for (const path of queue) {
    if (path in sizes) continue;
    const answer = await request(path);
    if (answer.status !== 200) continue;
    sizes[path] = answer.bytes.length;
    if (!path.endsWith('.css')) continue;
    for (const [, url] of text(answer).matchAll(/url\(["']?([^"')]+)/g)) {
      if (!url.startsWith('data:')) queue.push(new URL(url, origin + path).pathname);
    }
  }
  return sizes;
}

async function latency(path, cookie, times = 300) {
  const headers = { cookie };
  for (let i = 0; i < 30; i++) await request(path, { headers });
  const all = [];
  let last;
  for (let i = 0; i < times; i++) all.push((last = await request(path, { headers })).ms);
  all.sort((a, b) => a - b);
  return { median: all[times >> 1], p95: all[Math.floor(times * 0.95)], bytes: last.bytes.length };
}

async function throughput(path, cookie, seconds = 5) {
  const until = performance.now() + seconds * 1000;
  let answered = 0;
  const client = async () => {
    while (performance.now() < until) {
      await request(path, { headers: { cookie } });
      answered++;
    }
  };
  await Promise.all(Array.from({ length: 16 }, client));
  return answered / seconds;
}

// PostgreSQL's own log counts. The fewest of ten tries: what runs in the background may add to the others.
async function queries(paths, cookie) {
  const count = () => readFileSync(postgres('log'), 'utf8').match(/LOG: {2}(execute|statement)/g)?.length ?? 0;
  const fewest = {};
  for (const path of paths) {
    fewest[path] = Infinity;
    for (let i = 0; i < 10; i++) {
      const before = count();
      await request(path, { headers: { cookie } });
      fewest[path] = Math.min(fewest[path], count() - before);
    }
  }
  return fewest;
}

const results = { when: new Date().toISOString(), cpu: os.cpus()[0].model, cpus: os.cpus().length, scale: Number(scale) };
const print = (name, value) => console.log(`${name.padEnd(52)} ${value}`);
const ms = (value) => `${value.toFixed(2)} ms`;

rmSync(postgres(''), { recursive: true, force: true });
rmSync(data, { recursive: true, force: true });
let server = await start();
results.firstStart = server.ms;
print('first start, data made', ms(server.ms));
await server.stop();

server = await start();
results.start = server.ms;
print('second start', ms(server.ms));
await new Promise((done) => setTimeout(done, 2000));
results.idleMiB = memory(server.pid);
print('memory, idle', `${results.idleMiB.toFixed(1)} MiB`);

results.firstPage = await firstPage();
for (const [path, bytes] of Object.entries(results.firstPage)) print(`  ${path}`, `${bytes} bytes`);
print('first page, all of it', `${Object.values(results.firstPage).reduce((a, b) => a + b, 0)} bytes, brotli`);

let cookie = await signIn();
results.lists = {};
for (const list of lists) {
  const path = `${list}?limit=100`;
  if ((await request(path, { headers: { cookie } })).status !== 200) continue;
  const measured = await latency(path, cookie);
  measured.perSecond = await throughput(path, cookie);
  results.lists[path] = measured;
}
results.busyMiB = memory(server.pid);
await server.stop();

appendFileSync(postgres('data/postgresql.conf'), "\nlog_statement = 'all'\n");
server = await start();
cookie = await signIn();
const counted = await queries(Object.keys(results.lists), cookie);
await server.stop();

for (const [path, measured] of Object.entries(results.lists)) {
  measured.queries = counted[path];
  const { median, p95, bytes, perSecond } = measured;
  print(path, `${ms(median)}, 95 % within ${ms(p95)}, ${perSecond.toFixed(0)}/s, ${measured.queries} queries, ${bytes} bytes`);
}
print('memory after that', `${results.busyMiB.toFixed(1)} MiB`);

mkdirSync('bench/results', { recursive: true });
const file = `bench/results/${results.when.replaceAll(':', '-')}.json`;
writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
console.log(`\n${file}`);
