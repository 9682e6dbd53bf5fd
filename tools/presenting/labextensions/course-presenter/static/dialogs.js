// Two lists over the slides: all slides to jump to, and what the keys do.

import { HELP, actionOf } from './keys.js';

export function overview(presenter) {
  const list = document.createElement('ol');
  presenter.slides.forEach((slide, place) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = slide.title;
    button.className = slide.begins ? 'cp-section' : 'cp-sub';
    button.classList.toggle('cp-later', !slide.inClass);
    button.onclick = () => {
      dialog.close();
      presenter.show(place, 0);
    };
    if (place === presenter.place) {
      button.setAttribute('aria-current', 'true');
      button.autofocus = true;
    }
    const item = document.createElement('li');
    item.append(button);
    list.append(item);
  });
  const words = document.createElement('p');
  words.textContent = 'Grey: not planned for class; the short path (s) leaves it out.';
  const dialog = open('All slides', words, list);
  dialog?.addEventListener('keydown', event => choose(event, dialog));
}

// Any key closes the help again, and does what it does.
export function help(presenter) {
  const table = document.createElement('table');
  for (const [keys, words] of HELP) {
    const row = table.insertRow();
    row.insertCell().textContent = keys;
    row.insertCell().textContent = words;
  }
  const dialog = open('Keys', table);
  dialog?.addEventListener('keydown', event => {
    const action = actionOf(event);
    // Escape closes it by itself.
    if (action && action !== 'release' && action !== 'leave') {
      event.preventDefault();
      dialog.close();
      if (action !== 'help') {
        presenter.act(action, event.target);
      }
    }
  });
}

// A modal dialog: the browser keeps the focus in it, and Escape closes it. Asked for once more, as
// the keys of the notes window can, it closes as well, and there is none.
function open(title, ...content) {
  const other = document.querySelector('.cp-dialog[open]');
  other?.close();
  if (other?.getAttribute('aria-label') === title) {
    return null;
  }
  const dialog = document.createElement('dialog');
  dialog.className = 'cp-dialog';
  dialog.setAttribute('aria-label', title);
  const heading = document.createElement('h2');
  heading.textContent = title;
  const close = document.createElement('button');
  close.type = 'button';
  close.className = 'cp-close';
  close.textContent = 'Close';
  close.onclick = () => dialog.close();
  dialog.append(close, heading, ...content);
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

function choose(event, dialog) {
  const action = actionOf(event);
  const step = { next: 1, previous: -1 }[action];
  if (action === 'overview') {
    dialog.close();
  }
  if (!step) {
    return;
  }
  event.preventDefault();
  const buttons = [...dialog.querySelectorAll('li button')];
  const place = buttons.indexOf(document.activeElement);
  buttons[(place + step + buttons.length) % buttons.length].focus();
}
