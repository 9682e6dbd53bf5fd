// The presenter's own window: notes, the clock, what comes next. It turns slides as well.

import { actionOf } from './keys.js';
import { Preview } from './preview.js';

const PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Notes</title><style>
  body { font: 20px/1.45 system-ui, sans-serif; margin: 0; padding: 16px 20px; color: #111;
         background: #fff; }
  header { display: flex; gap: 24px; align-items: baseline; border-bottom: 1px solid #888;
           padding-bottom: 8px; }
  header b { font-variant-numeric: tabular-nums; }
  h1 { font-size: 26px; margin: 14px 0 6px; }
  #next { color: #444; border-top: 1px solid #888; margin-top: 18px; padding-top: 8px; }
  #preview { aspect-ratio: 1280 / 684; width: 100%; max-width: 720px; margin: 8px 0 14px;
             overflow: hidden; border: 1px solid #888; }
  #preview[hidden] { display: none; }
  #preview iframe { border: 0; transform-origin: 0 0; }
  button { font: inherit; padding: 4px 14px; }
  summary { font-weight: 600; }
  .earlier { color: #555; border-left: 4px solid #bbb; padding-left: 12px; }
</style></head><body>
<header><span>Clock <b id="clock"></b></span><span>Since the start <b id="since"></b></span>
<span id="plan"></span><button id="again" type="button">From 0:00</button></header>
<h1 id="title"></h1><div id="where"></div><main id="notes" aria-live="polite"></main>
<div id="next"></div><div id="preview"></div>
<p><button id="previous" type="button">◀ Back</button>
<button id="on" type="button">On ▶</button></p>
</body></html>`;

export class NotesWindow {
  constructor(presenter) {
    this.presenter = presenter;
    this.window = null;
  }

  open() {
    if (!this.window || this.window.closed) {
      // One that was open before this page was loaded again is found by its name.
      this.window = window.open('', 'course-notes', 'width=760,height=900');
      if (!this.window) {
        this.presenter.bar.say('The browser blocked the notes window: allow it for this page');
        return;
      }
      this.presenter.bar.say(this.presenter.runner.words); // no longer that it was blocked
      this.write();
    }
    this.update();
    this.window.focus();
  }

  write() {
    const page = this.window.document;
    page.open();
    page.write(PAGE);
    page.close();
    page.getElementById('previous').onclick = event => this.turn('previous', event);
    page.getElementById('on').onclick = event => this.turn('next', event);
    page.getElementById('again').onclick = () => {
      this.presenter.begin();
      this.tick();
    };
    this.window.addEventListener('keydown', event => this.onKey(event));
    this.window.setInterval(() => this.tick(), 500);
    this.preview = new Preview(this.presenter, page.getElementById('preview'));
    this.tick();
  }

  turn(action, event) {
    this.presenter.act(action, event.target);
  }

  onKey(event) {
    const action = actionOf(event);
    if (action && !['leave', 'notes', 'fullscreen', 'release'].includes(action)) {
      event.preventDefault();
      this.turn(action, event);
    }
  }

  tick() {
    const page = this.window.document;
    page.getElementById('clock').textContent = new Date().toTimeString().slice(0, 5);
    const seconds = Math.floor((Date.now() - this.presenter.begun) / 1000);
    const rest = String(seconds % 60).padStart(2, '0');
    page.getElementById('since').textContent = `${Math.floor(seconds / 60)}:${rest}`;
  }

  update() {
    if (!this.window || this.window.closed) {
      return;
    }
    if (!this.window.document.getElementById('title')) {
      this.write(); // its page was loaded again by hand, which leaves it empty
    }
    const { presenter } = this;
    const { slides, place, slide, bar, black } = presenter;
    const page = this.window.document;
    page.getElementById('title').textContent = slide.title;
    const screen = black.isOn ? ' · the screen is black' : '';
    page.getElementById('where').textContent = bar.where.textContent + screen;
    page.getElementById('plan').textContent = `planned by the end of this: ${this.planned()} min`;
    const { notes, earlier } = this.current();
    page.getElementById('notes').replaceChildren(...notes.map(at => this.noteOf(at, page)));
    page.getElementById('notes').className = earlier ? 'earlier' : '';
    const next = slides[presenter.placeFrom(place, 1)];
    page.getElementById('next').textContent = next ? `Next: ${next.title}` : 'This is the end.';
    page.getElementById('preview').hidden = !next;
    this.preview.show(next);
  }

  // The notes of this slide, or the last ones of its section: an answer often comes a slide later.
  current() {
    const { slides, place } = this.presenter;
    for (let at = place; at >= 0; at -= 1) {
      if (slides[at].notes.length || slides[at].begins) {
        return { notes: slides[at].notes, earlier: at < place };
      }
    }
    return { notes: [], earlier: false };
  }

  // The notes as JupyterLab has rendered and cleaned them, unfolded.
  noteOf(place, page) {
    const rendered = this.presenter.notebook.widgets[place].node.querySelector(
      '.jp-RenderedMarkdown'
    );
    const copy = page.importNode(rendered, true);
    copy.querySelectorAll('details').forEach(each => each.setAttribute('open', ''));
    return copy;
  }

  // Minutes of all notes up to and with this slide.
  planned() {
    const { slides, place } = this.presenter;
    const minutes = slides.slice(0, place + 1).map(slide => slide.planned ?? 0);
    return minutes.reduce((sum, each) => sum + each, 0);
  }
}
