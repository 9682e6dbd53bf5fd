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
  f: 'fullscreen',
  '?': 'help'
};
export const HELP = [
  ['→ ↓ Space PageDown', 'the next step'],
  ['← ↑ PageUp', 'the step before'],
  ['Home, End', 'first and last slide'],
  ['1 to 9', 'the scenes of the explorer on the slide'],
  ['Tab', 'to sliders, buttons and code; Escape comes back from there'],
  ['Shift+Enter', 'runs the cell that is being edited'],
  ['r', 'runs the slide again'],
  ['c', 'shows or hides the code of a figure'],
  ['n', "the presenter's notes, in a window of their own"],
  ['o', 'all slides'],
  ['f', 'the whole screen'],
  ['Escape', 'leaves the slides; the button “Slides” comes back']
];

const TYPING = '.cm-content, textarea, select, input:not([type=radio]):not([type=checkbox])';
const CONTROL = '.noUi-handle, [role=slider], input, button, summary, a[href]';

// The action a key asks for, or null where it belongs to what has the focus.
export function actionOf(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) {
    return null;
  }
  if (ALWAYS[key]) {
    return ALWAYS[key];
  }
  const typing = target.closest?.(TYPING);
  const control = typing || target.closest?.(CONTROL);
  if (typing && key === 'Enter' && event.shiftKey) {
    return 'run-cell';
  }
  if (control && key === 'Escape') {
    return 'release';
  }
  if (typing || (control && (key === ' ' || key.startsWith('Arrow') || /^(Home|End)$/.test(key)))) {
    return null;
  }
  if (/^[1-9]$/.test(key)) {
    return `scene-${key}`;
  }
  return FREE[key] ?? null;
}

// Whether a key may go on to JupyterLab: only what is typed or moved, never its one-letter
// commands, which would insert, cut or delete cells behind the slide.
export function mayPass(event) {
  const { key, target } = event;
  return Boolean(
    target.closest?.(`${TYPING}, ${CONTROL}, dialog`) || key === 'Tab' || key.startsWith('F')
  ) || event.ctrlKey || event.metaKey;
}
