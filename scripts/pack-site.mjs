// A release's last step: minifies the scripts and writes .br and .gz beside every file that gets smaller by it.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { transformSync } from 'esbuild';

const site = process.argv[2];
const files = readdirSync(site, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));

let total = 0;
for (const file of files) {
  if (file.endsWith('.js')) {
    const { code } = transformSync(readFileSync(file, 'utf8'), { minify: true, format: 'esm', target: 'es2022' });
    writeFileSync(file, code);
  }
  const plain = readFileSync(file);
  const br = brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } });
  const gz = gzipSync(plain, { level: 9 });
  if (br.length < plain.length) writeFileSync(`${file}.br`, br);
  if (gz.length < plain.length) writeFileSync(`${file}.gz`, gz);
  const sent = Math.min(plain.length, br.length);
  total += sent;
  console.log(`${String(sent).padStart(9)} bytes  ${file.slice(site.length + 1)}`);
}
console.log(`${String(total).padStart(9)} bytes in all, as a browser gets them`);
