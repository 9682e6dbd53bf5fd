// Two lists over the slides: all slides to jump to, and what the keys do.

import { HELP } from './keys.js';

export function overview(presenter) {
  const list = document.createElement('ol');
  presenter.slides.forEach((slide, place) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = slide.title;
    button.className = slide.begins ? 'cp-section' : 'cp-sub';
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
  const dialog = open('All slides', list);
  dialog.onkeydown = event => move(event, dialog);
}

export function help() {
  const table = document.createElement('table');
  for (const [keys, words] of HELP) {
    const row = table.insertRow();
    row.insertCell().textContent = keys;
    row.insertCell().textContent = words;
  }
  open('Keys', table);
}

// A modal dialog: the browser keeps the focus in it, and Escape closes it.
function open(title, content) {
  document.querySelector('.cp-dialog[open]')?.close(); // keys of the notes window may ask for another
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
  dialog.append(close, heading, content);
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

function move(event, dialog) {
  const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  if (!step) {
    return;
  }
  event.preventDefault();
  const buttons = [...dialog.querySelectorAll('li button')];
  const place = buttons.indexOf(document.activeElement);
  buttons[(place + step + buttons.length) % buttons.length].focus();
}
