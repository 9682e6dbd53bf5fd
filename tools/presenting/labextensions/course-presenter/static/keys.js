// Which key does what, and when a key belongs to the control under the hand.

// Page keys are what a hand-held clicker sends: they turn slides wherever the focus is.
const ALWAYS = { PageDown: 'next', PageUp: 'previous' };
const FREE = {
  ArrowRight: 'next',
  ArrowDown: 'next',
  ' ': 'next',
  ArrowLeft: 'previous',
  ArrowUp: 'previous',
  Home: 'first',
  End: 'last',
  Escape: 'leave',
  r: 'run',
  c: 'code',
  n: 'notes',
  o: 'overview',
  k: 'restart',
  f: 'fullscreen',
  s: 'short',
  p: 'pointer',
  b: 'black',
  '.': 'black',
  '?': 'help'
};
export const HELP = [
  ['→ ↓ Space PageDown', 'the next step'],
  ['← ↑ PageUp', 'the step before'],
  ['Home, End', 'first and last slide'],
  ['1 to 9', 'the presets of the explorer on the slide; the choices of a prediction'],
  ['Tab', 'to sliders, buttons and code; Escape comes back from there'],
  ['Shift+Enter', 'runs the cell that is being edited'],
  ['r', 'runs the slide again'],
  ['k', 'restarts the kernel and runs the whole lecture again'],
  ['c', 'shows or hides the code of a figure'],
  ['n', "the presenter's notes, in a window of their own"],
  ['o', 'all slides'],
  ['s', 'the short path: only the slides that are planned for class; again: all'],
  ['p', 'a pointer that all can see; again: none'],
  ['b .', 'a black screen; any key comes back'],
  ['f', 'the whole screen'],
  ['Escape', 'leaves the slides; the button “Slides” comes back']
];

// The number beside a slider is text as well: whoever clicks it types another.
const TEXT =
  '[contenteditable=true], textarea, select, ' +
  'input:not([type=radio]):not([type=checkbox]):not([type=range])';
const TYPING = `${TEXT}, input[type=range]`;
const MOVED = '[role=slider], [role=radio], [role=checkbox], input';
const CONTROL = `${MOVED}, button, summary, a[href]`;
const MOVES = /^(Arrow.*|Home|End)$/;

// The action a key asks for, or null where it belongs to what has the focus.
export function actionOf(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) {
    return null;
  }
  if (ALWAYS[key]) {
    return ALWAYS[key];
  }
  if (target.closest?.('.cm-content') && key === 'Enter' && event.shiftKey) {
    return 'run-cell';
  }
  if (target.closest?.(`${TYPING}, ${CONTROL}`) && key === 'Escape') {
    return 'release';
  }
  if (belongs(event)) {
    return null;
  }
  if (/^[1-9]$/.test(key)) {
    return `preset-${key}`;
  }
  return FREE[key] ?? null;
}

// Whether a key may go on to JupyterLab: only what is typed, moved or pressed, never its one-letter
// commands, which would insert, cut or delete cells behind the slide.
export function mayPass(event) {
  return belongs(event) || event.ctrlKey || event.metaKey || /^(Tab|F\d+)$/.test(event.key);
}

// Whether a mouse or a finger that has done with a control leaves the keys to the slides: not in a
// text, nor in a list, which is open then.
export function letsGo(node) {
  return Boolean(node?.closest?.('.jp-OutputArea-output')) && !node.closest(TEXT);
}

// Whether the control that has the focus uses this key itself. A button is pressed, not moved:
// after a click on a preset the arrow keys still turn slides.
function belongs({ key, target }) {
  const has = css => Boolean(target.closest?.(css));
  return (
    has(TYPING) ||
    (MOVES.test(key) && has(MOVED)) ||
    ((key === ' ' || key === 'Enter') && has(CONTROL))
  );
}
