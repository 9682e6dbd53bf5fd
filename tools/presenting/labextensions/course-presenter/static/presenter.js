// One slide at a time: the notebook's own cells, so every slider and every line of code is live.

import { Bar } from './bar.js';
import { Black } from './black.js';
import { overview, help } from './dialogs.js';
import { PAIRED, SCROLLS, fit, fitSlide, overflows, scaleToWindow } from './fit.js';
import { actionOf, letsGo, mayPass } from './keys.js';
import { NotesWindow } from './notes.js';
import { Pointer } from './pointer.js';
import { Runner } from './runner.js';
import { fragmentsOf, hidesCode, slidesOf } from './slides.js';

const TEXTS = '.cm-content[contenteditable=true]';
const SILENT = ['Shift', 'Control', 'Alt', 'Meta', 'CapsLock']; // do nothing by themselves
const OVER = 'dialog[open], .lm-Menu'; // what lies over the slides has the keys

export class Presenter {
  constructor(app, panel) {
    this.app = app;
    this.panel = panel;
    this.notebook = panel.content;
    this.place = 0;
    this.step = 0;
    this.zoom = 1;
    this.active = false;
    this.scale = 1;
    this.byHand = false; // whether the mouse or a finger, not a key, did the last thing
    if (!this.begun) {
      this.begin();
    }
    this.runner = new Runner(
      panel,
      () => this.bar.say(this.runner.words),
      cell => this.onRun(cell)
    );
    this.bar = new Bar(this);
    this.notes = new NotesWindow(this);
    this.black = new Black(() => this.notes.update());
    this.pointer = new Pointer();
    this.watch = new ResizeObserver(() => this.shrinkIfNeeded());
    window.addEventListener('keydown', event => this.onKey(event), { capture: true });
    window.addEventListener('resize', () => this.active && this.lay());
    window.addEventListener('click', event => this.onClick(event), { capture: true });
    window.addEventListener('dblclick', event => this.onDoubleClick(event), { capture: true });
    window.addEventListener('pointerdown', () => (this.byHand = true), { capture: true });
    window.addEventListener('pointerup', () => this.letGo(), { capture: true });
    window.addEventListener('change', event => this.onChange(event), { capture: true });
  }

  // The slides of the notebook as it is now: a cell may have been added while presenting.
  get slides() {
    return slidesOf(
      this.notebook.widgets.map(cell => ({
        id: cell.model.id,
        type: cell.model.type,
        slide: cell.model.getMetadata('slideshow')?.slide_type ?? '-',
        about: cell.model.getMetadata('slideshow')?.about,
        source: cell.model.sharedModel.getSource()
      }))
    );
  }

  get slide() {
    return this.slides[this.place];
  }

  // The questions of a live quiz on this slide: they are shown one at a time.
  get questions() {
    const widgets = this.slide.cells.map(({ place }) => this.notebook.widgets[place].node);
    return widgets.flatMap(node => [...node.querySelectorAll('.quiz-question')]);
  }

  // How many times `next` stays on this slide.
  get lastStep() {
    return fragmentsOf(this.slide) + Math.max(0, this.questions.length - 1);
  }

  // The box that would scroll, did a slide not fit.
  get stage() {
    return this.notebook.node.querySelector('.jp-WindowedPanel-outer');
  }

  // Begin, or come back, at the slide that was shown last.
  enter() {
    this.active = true;
    document.body.classList.add('cp-presenting');
    this.panel.node.classList.add('cp-panel');
    // What lies around the notebook would keep it from filling the window.
    for (let box = this.panel.node.parentElement; box !== document.body; box = box.parentElement) {
      box.classList.add('cp-around');
    }
    this.bar.show();
    this.show(this.remembered(), 0);
  }

  leave() {
    this.active = false;
    this.pointer.hide();
    document.body.classList.remove('cp-presenting');
    this.panel.node.classList.remove('cp-panel', SCROLLS, PAIRED);
    document.querySelectorAll('.cp-around').forEach(box => box.classList.remove('cp-around'));
    this.stage.style.removeProperty('--cp-zoom');
    this.watch.disconnect();
    for (const cell of this.notebook.widgets) {
      cell.node.classList.remove('cp-on', 'cp-covered', 'cp-figure', 'cp-about');
      cell.node.removeAttribute('inert');
    }
    document.querySelectorAll('.cp-off').forEach(node => node.classList.remove('cp-off'));
    this.bar.fold();
  }

  // Show a slide with `step` of its fragments uncovered.
  show(place, step) {
    const slides = this.slides;
    this.place = Math.max(0, Math.min(place, slides.length - 1));
    this.step = Math.min(step, this.lastStep);
    sessionStorage.setItem(this.key, String(this.place));
    this.lay();
    document.activeElement?.blur?.();
    this.bar.update();
    this.notes.update();
  }

  // Put the cells of this slide on the stage, and zoom until they fit.
  lay() {
    const { cells, about } = this.slide;
    const shown = new Set(cells.map(cell => cell.place));
    this.watch.disconnect();
    this.scale = scaleToWindow();
    this.notebook.widgets.forEach((cell, place) => {
      const { classList } = cell.node;
      const isAbout = place === about;
      const isFigure = cell.model.type === 'code' && (isAbout || this.leavesCodeOut(cell));
      classList.toggle('cp-on', isAbout || shown.has(place));
      classList.toggle('cp-about', isAbout);
      classList.toggle('cp-figure', isFigure);
    });
    this.cover();
    this.stage.scrollTop = 0;
    this.zoom = this.scale * fitSlide(this.stage, this.scale);
    this.stage.querySelectorAll('.cp-on').forEach(node => this.watch.observe(node));
    // An explorer that was hidden draws within two frames: then the slide has its size.
    const slide = this.place;
    const fitAgain = () => {
      if (this.active && this.place === slide && this.stage.querySelector('.cp-on .ce')) {
        this.zoom = this.scale * fitSlide(this.stage, this.scale);
      }
    };
    requestAnimationFrame(() => requestAnimationFrame(fitAgain));
  }

  leavesCodeOut(cell) {
    return !this.withCode && hidesCode(cell.model.sharedModel.getSource());
  }

  // Fragments keep their room while they are covered, so nothing jumps when one appears.
  cover() {
    let number = 0;
    for (const { place, fragment } of this.slide.cells) {
      number += fragment;
      const covered = fragment && number > this.step;
      const { node } = this.notebook.widgets[place];
      node.classList.toggle('cp-covered', covered);
      node.toggleAttribute('inert', covered);
    }
    const current = Math.max(0, this.step - number);
    this.questions.forEach((node, place) => node.classList.toggle('cp-off', place !== current));
  }

  // A cell that runs loses its output for a moment: with the new one the slide finds its size.
  onRun(cell) {
    if (this.active && cell.node.classList.contains('cp-on')) {
      requestAnimationFrame(() => this.active && this.lay());
    }
  }

  // Output may grow while a cell runs or a slider moves: it is never cut off. Growing back waits
  // for the next slide, so that the picture keeps still under a slider.
  shrinkIfNeeded() {
    if (this.active && overflows(this.stage)) {
      this.zoom = this.scale * fit(this.stage, this.zoom / this.scale, this.scale);
    }
  }

  next() {
    if (this.step < this.lastStep) {
      this.uncover(this.step + 1);
    } else {
      this.turn(this.placeFrom(this.place, 1), 0);
    }
  }

  previous() {
    if (this.step > 0) {
      this.uncover(this.step - 1);
    } else {
      this.turn(this.placeFrom(this.place, -1), Infinity);
    }
  }

  // The place of the nearest slide to come, or to go back to; on the short path of those in class.
  placeFrom(place, direction) {
    const slides = this.slides;
    let at = place + direction;
    while (this.short && slides[at] && !slides[at].inClass) {
      at += direction;
    }
    return at;
  }

  // Show a slide, if there is one at this place.
  turn(place, step) {
    if (this.slides[place]) {
      this.show(place, step);
    }
  }

  uncover(step) {
    this.step = step;
    this.cover();
    if (this.questions.length) {
      this.lay(); // one question takes another's room
    }
    this.bar.update();
    this.notes.update();
  }

  // Run every cell once, also those no slide shows, so that each slider is live.
  runAll() {
    return this.runner.run([...this.notebook.widgets.keys()]);
  }

  runSlide() {
    return this.runner.run(this.slide.cells.map(cell => cell.place));
  }

  // After a loop without end or a kernel that died: a new kernel, and every cell again.
  async restart() {
    if (await this.runner.restart()) {
      await this.runAll();
    }
  }

  // Press the button of an explorer's preset on this slide; before the explorer is uncovered, the
  // choice of the last prediction, or of the question that is shown.
  preset(number) {
    const all = css => [...this.notebook.node.querySelectorAll(css)];
    const presets = '.course-presets button';
    const asked = all('.cp-on:not(.cp-covered) .ce-choices').findLast(each => each.offsetParent);
    const [buttons = []] = [
      all(`.cp-on:not(.cp-covered) ${presets}`),
      [...asked?.querySelectorAll('button') ?? []],
      all(`.cp-on ${presets}`),
    ].filter(found => found.length);
    buttons[number - 1]?.click();
  }

  onKey(event) {
    this.byHand = false;
    if (this.black.isOn) {
      event.preventDefault();
      event.stopImmediatePropagation();
      if (!SILENT.includes(event.key)) {
        this.black.hide();
      }
      return;
    }
    if (!this.active || document.querySelector(OVER)) {
      return;
    }
    const action = actionOf(event);
    if (action) {
      event.preventDefault();
      event.stopImmediatePropagation();
      this.act(action, event.target);
    } else if (!mayPass(event)) {
      event.stopImmediatePropagation();
    }
  }

  // A list that was opened by hand closes with its choice.
  onChange({ target }) {
    if (this.active && this.byHand && target.matches('select')) {
      target.blur();
    }
  }

  // What a mouse or a finger has moved or pressed leaves the keys to the slides; Tab brings them back.
  letGo() {
    const held = document.activeElement;
    if (this.active && letsGo(held)) {
      // After the click that follows, which may look for the focus.
      setTimeout(() => held.blur());
    }
  }

  // Another lecture comes up in a tab of its own, as slides: JupyterLab would put it before this one.
  onClick(event) {
    const { baseUrl } = this.app.serviceManager.serverSettings;
    const link = this.active && event.target.closest('.cp-on a[href]');
    if (link && link.href.startsWith(`${baseUrl}files/`)) {
      event.preventDefault();
      event.stopImmediatePropagation();
      const [path] = link.href.slice(`${baseUrl}files/`.length).split(/[?#]/);
      window.open(`${baseUrl}doc/tree/${path}`, '_blank', 'noopener');
    }
  }

  // A word clicked twice is marked; JupyterLab would show the source of its cell instead.
  onDoubleClick(event) {
    if (this.active && event.target.closest('.jp-MarkdownOutput')) {
      event.stopImmediatePropagation();
    }
  }

  // What a key or a button asks for, also one of the notes window: nothing while the slides are left.
  act(action, target) {
    if (!this.active) {
      return;
    }
    if (this.black.isOn) {
      this.black.hide();
      return;
    }
    const preset = action.match(/^preset-(\d)$/);
    if (preset) {
      this.preset(Number(preset[1]));
      return;
    }
    const actions = {
      next: () => this.next(),
      previous: () => this.previous(),
      first: () => this.turn(this.placeFrom(-1, 1), 0),
      last: () => this.turn(this.placeFrom(this.slides.length, -1), 0),
      run: () => this.runSlide(),
      restart: () => this.restart(),
      'run-cell': () => this.runner.run([this.cellOf(target)]),
      release: () => target.blur(),
      code: () => this.toggleCode(),
      notes: () => this.notes.open(),
      overview: () => overview(this),
      help: () => help(this),
      short: () => this.toggleShort(),
      pointer: () => this.pointer.toggle(),
      black: () => this.black.show(),
      fullscreen: () => this.toggleFullscreen(),
      leave: () => this.leave()
    };
    actions[action]();
  }

  cellOf(node) {
    return this.notebook.widgets.findIndex(cell => cell.node.contains(node.closest(TEXTS) ?? node));
  }

  toggleShort() {
    sessionStorage.setItem(`${this.key}:short`, this.short ? '' : 'yes');
    this.bar.update();
    this.notes.update();
  }

  // Whether only the slides in class are walked.
  get short() {
    return Boolean(sessionStorage.getItem(`${this.key}:short`));
  }

  toggleCode() {
    this.withCode = !this.withCode;
    this.lay();
  }

  toggleFullscreen() {
    if (document.fullscreenElement) {
      document.exitFullscreen();
    } else {
      document.documentElement.requestFullscreen();
    }
  }

  // A page that is loaded again continues where it was.
  get key() {
    return `course-presenter:${this.panel.context.path}`;
  }

  remembered() {
    return Number(sessionStorage.getItem(this.key) ?? 0);
  }

  // When the talk began, in milliseconds.
  get begun() {
    return Number(sessionStorage.getItem(`${this.key}:begun`));
  }

  begin() {
    sessionStorage.setItem(`${this.key}:begun`, String(Date.now()));
  }
}
