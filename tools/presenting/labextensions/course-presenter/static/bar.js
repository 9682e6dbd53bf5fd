// The line at the foot of the slides: where we are, what runs, and a button for every key.

const BUTTONS = [
  ['previous', '◀', 'Back (←)'],
  ['next', '▶', 'On (→)']
];
const TOOLS = [
  ['run', 'Run', 'Run this slide again (r)'],
  ['restart', 'Restart', 'Restart the kernel and run the whole lecture again (k)'],
  ['code', 'Code', 'Show or hide the code of a figure (c)'],
  ['notes', 'Notes', "The presenter's notes, in a window of their own (n)"],
  ['overview', 'All', 'All slides (o)'],
  ['short', 'Short', 'Only the slides that are planned for class, or all (s)'],
  ['pointer', 'Pointer', 'A pointer that all can see (p)'],
  ['black', 'Black', 'A black screen (b)'],
  ['help', 'Keys', 'What the keys do (?)'],
  ['leave', 'Leave', 'Back to the notebook (Escape)']
];

export class Bar {
  constructor(presenter) {
    this.presenter = presenter;
    this.node = document.createElement('div');
    this.node.className = 'cp-bar';
    this.node.setAttribute('role', 'toolbar');
    this.node.setAttribute('aria-label', 'Slides');
    this.where = this.text('cp-where');
    this.heard = this.text('cp-heard'); // a screen reader says which slide came up
    this.heard.setAttribute('role', 'status');
    this.running = this.text('cp-running');
    this.node.append(
      ...BUTTONS.map(each => this.button(...each)),
      this.where,
      this.heard,
      this.running,
      ...TOOLS.map(each => this.button(...each))
    );
    this.back = this.button('enter', 'Slides', 'Back to the slides');
    this.back.className = 'cp-back';
    this.back.onclick = () => presenter.enter();
    document.body.append(this.node, this.back);
  }

  text(name) {
    const node = document.createElement('span');
    node.className = name;
    return node;
  }

  button(action, label, title) {
    const node = document.createElement('button');
    node.type = 'button';
    node.textContent = label;
    node.title = title;
    node.setAttribute('aria-label', title);
    node.onclick = () => {
      this.presenter.act(action, node);
      node.blur(); // the keys belong to the slides again
    };
    return node;
  }

  show() {
    this.node.hidden = false;
    this.back.hidden = true;
  }

  fold() {
    this.node.hidden = true;
    this.back.hidden = false;
  }

  update() {
    const { slides, slide, place, step, lastStep, short } = this.presenter;
    const steps = lastStep ? `, step ${step + 1} of ${lastStep + 1}` : '';
    const path = short ? ', short path' : '';
    this.where.textContent = `${place + 1} / ${slides.length}${steps}${path}`;
    this.where.title = slide.title;
    this.heard.textContent = `${slide.title}, ${this.where.textContent}`;
    document.title = `${slide.title} (${place + 1} / ${slides.length})`;
  }

  say(words) {
    this.running.textContent = words;
  }
}
