// Cuts the portal's two fonts from their npm packages into target/site/pkg/fonts: the Latin letters of English, German and
// western Europe, and only the weights in use. They stand inside pkg/ because cargo-leptos empties everything beside it.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import subsetFont from 'subset-font';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = join(root, 'target/site/pkg/fonts');

const range = (from, to) => String.fromCharCode(...Array.from({ length: to - from + 1 }, (_, i) => from + i));
const ascii = range(0x20, 0x7e);
const prose = `${ascii}${range(0xa0, 0xff)}ŒœŠšŽžŸẞ–—‘’‚“”„•…‹›€™−≠≤≥→`;
const code = `${ascii}ÄÖÜäöüß·–—‘’“”…−`;

const fonts = [
  { name: 'hanken-grotesk', title: 'Hanken Grotesk', weights: { min: 400, max: 700 }, text: prose },
  { name: 'atkinson-hyperlegible-mono', title: 'Atkinson Hyperlegible Mono', weights: { min: 400, max: 600 }, text: code },
];

mkdirSync(out, { recursive: true });
let licence = '';
for (const { name, title, weights, text } of fonts) {
  const from = join(root, 'node_modules/@fontsource-variable', name);
  const source = join(from, `files/${name}-latin-wght-normal.woff2`);
  licence += `${title} (${name}.woff2, a subset)\n\n${readFileSync(join(from, 'LICENSE'), 'utf8').trim()}\n\n\n`;
  const cut = await subsetFont(readFileSync(source), text, { targetFormat: 'woff2', variationAxes: { wght: weights } });
  writeFileSync(join(out, `${name}.woff2`), cut);
}
writeFileSync(join(out, 'OFL.txt'), licence);
