// The console page: draws a ticket from its own address, opens the WebSocket that the ticket is good for, and lets noVNC show what
// comes. All that stands in the page is written by the server; this fills it with life.
import RFB from '@novnc/novnc';

const stage = document.getElementById('console');
const part = (name) => stage.querySelector(`[data-part="${name}"]`);
const [state, screen, dialog, reason, title, text, count] =
  ['state', 'screen', 'dialog', 'reason', 'title', 'text', 'count'].map(part);

let rfb = null;

// --- connecting

/** The page once more, with a ticket in it or the reason why there is none. */
async function draw() {
  const answer = await fetch(location.pathname, { method: 'POST', headers: { accept: 'text/html' }, body: new URLSearchParams() });
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const ticket = page.querySelector('[data-ticket]')?.dataset.ticket;
  if (ticket) return ticket;
  const why = page.querySelector('[data-part="reason"], .note, main p')?.textContent.trim();
  throw new Error(why || `The server answered ${answer.status}.`);
}

async function connect() {
  if (rfb) return;
  show('busy', 'Connecting');
  try {
    const ticket = stage.dataset.ticket || (await draw());
    delete stage.dataset.ticket; // it opens one console, once
    const address = new URL(`/console/${ticket}`, location.href);
    address.protocol = address.protocol.replace('http', 'ws');
    const socket = new WebSocket(address, ['binary']);
    // before noVNC has its own: why a console ends stands in the frame that closes it
    socket.addEventListener('close', (event) => ended(event));
    rfb = new RFB(screen, socket, { shared: true });
    rfb.scaleViewport = true;
    rfb.background = 'transparent';
    rfb.addEventListener('connect', connected);
    rfb.addEventListener('securityfailure', () => ended({ reason: 'Its screen asks for a password, which nobody has.' }));
  } catch (error) {
    ended({ reason: error.message });
  }
}

function connected() {
  show('ok', 'Connected');
  rfb.focus();
}

function ended({ code = 0, reason: why = '' }) {
  rfb = null;
  show('warn', 'Not connected');
  title.textContent = 'The console is closed';
  part('connect').textContent = 'Connect again';
  reason.textContent = why || (code === 1006 ? 'The connection broke, or the server did not take it.' : 'The connection has ended.');
  if (!dialog.contains(document.activeElement)) part('connect').focus();
}

function show(tone, word) {
  const live = tone === 'ok';
  stage.dataset.state = live ? 'open' : tone === 'busy' ? 'busy' : 'closed';
  state.className = `badge ${tone}`;
  state.querySelector('span').textContent = word;
  dialog.hidden = tone !== 'warn';
  screen.hidden = !dialog.hidden;
  for (const button of stage.querySelectorAll('[data-live]')) button.setAttribute('aria-disabled', String(!live));
}

// --- keys

const NAMED = {
  alt: [0xffe9, 'AltLeft'], ctrl: [0xffe3, 'ControlLeft'], shift: [0xffe1, 'ShiftLeft'], super: [0xffeb, 'MetaLeft'],
  tab: [0xff09, 'Tab'], enter: [0xff0d, 'Enter'], print: [0xff61, 'PrintScreen'],
  f1: [0xffbe, 'F1'], f2: [0xffbf, 'F2'], f3: [0xffc0, 'F3'], f4: [0xffc1, 'F4'], f7: [0xffc4, 'F7'],
};

/** Pressed one after the other, let go the other way round. */
function chord(names) {
  const keys = names.split(' ').map((name) => NAMED[name]);
  for (const [sym, code] of keys) rfb.sendKey(sym, code, true);
  for (const [sym, code] of keys.reverse()) rfb.sendKey(sym, code, false);
}

// where characters are on a US keyboard, and what shift makes of them
const PLAIN = "`1234567890-=[]\\;',./ ";
const SHIFTED = '~!@#$%^&*()_+{}|:"<>? ';
const CODES = ['Backquote', ...[...'1234567890'].map((d) => `Digit${d}`), 'Minus', 'Equal', 'BracketLeft', 'BracketRight', 'Backslash',
  'Semicolon', 'Quote', 'Comma', 'Period', 'Slash', 'Space'];

function press(character) {
  if (character === '\n') return chord('enter');
  if (character === '\t') return chord('tab');
  const point = character.codePointAt(0);
  const sym = point <= 0xff ? point : 0x01000000 + point;
  const letter = /^[a-z]$/i.test(character);
  const at = PLAIN.includes(character) ? PLAIN.indexOf(character) : SHIFTED.indexOf(character);
  const code = letter ? `Key${character.toUpperCase()}` : CODES[at];
  const shift = letter ? character !== character.toLowerCase() : at >= 0 && !PLAIN.includes(character);
  if (shift) rfb.sendKey(...NAMED.shift, true);
  rfb.sendKey(sym, code ?? 'Unidentified', true);
  rfb.sendKey(sym, code ?? 'Unidentified', false);
  if (shift) rfb.sendKey(...NAMED.shift, false);
}

const lines = () => text.value.replaceAll('\r\n', '\n');

function counted() {
  const typed = lines();
  const rows = typed ? typed.split('\n').length : 0;
  count.textContent = `${rows} ${rows === 1 ? 'line' : 'lines'}, ${[...typed].length} characters.`;
}

/** A guest reads keys slower than a browser sends them. */
async function type() {
  for (const character of lines()) {
    if (!rfb) return;
    press(character);
    await new Promise((done) => setTimeout(done, 8));
  }
  text.value = '';
  counted();
  rfb?.focus();
}

// --- the bar

const acts = {
  connect,
  cad: () => rfb.sendCtrlAltDel(),
  paste: (button) => {
    const panel = part('side');
    panel.hidden = !panel.hidden;
    button.setAttribute('aria-expanded', String(!panel.hidden));
    if (!panel.hidden) text.focus();
  },
  full: () => (document.fullscreenElement ? document.exitFullscreen() : stage.requestFullscreen()),
};

stage.addEventListener('click', (event) => {
  const button = event.target.closest('button');
  if (!button || button.getAttribute('aria-disabled') === 'true') return;
  const { act, keys } = button.dataset;
  if (keys) {
    chord(keys);
    button.closest('details')?.removeAttribute('open');
    rfb.focus();
  } else if (act) {
    event.preventDefault();
    acts[act](button);
  }
});
part('form').addEventListener('submit', (event) => {
  event.preventDefault();
  if (rfb) type();
});
text.addEventListener('input', counted);
// noVNC takes every key while it has the focus: this one is the way out
document.addEventListener(
  'keydown',
  (event) => {
    if (event.ctrlKey && event.altKey && event.key === 'Home') {
      event.preventDefault();
      event.stopImmediatePropagation();
      rfb?.blur();
      stage.querySelector('header a, header button').focus();
    }
  },
  true,
);

stage.classList.add('with-script');
counted();
// whoever looks already is asked about first, and what can't be opened says why
if ('ready' in stage.dataset || stage.dataset.ticket) connect();
else show('warn', 'Not connected');
