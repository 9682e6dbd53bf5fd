// A copy of a slide in a page of its own, as the room will see it: for the notes window.

import { fitSlide } from './fit.js';

const [WIDTH, HEIGHT] = [1280, 720]; // a projector's
const BOXES = ['cp-panel', 'jp-Notebook', 'jp-WindowedPanel-outer', 'jp-WindowedPanel-viewport'];
const FORMULAS = 'MJX-CHTML-styles'; // MathJax adds to it with every new character

export class Preview {
  // `box` is the element of the notes window that gets the copy.
  constructor(presenter, box) {
    this.presenter = presenter;
    this.frame = box.ownerDocument.createElement('iframe');
    Object.assign(this.frame, { title: 'The next slide', width: WIDTH, height: HEIGHT, inert: true });
    box.replaceChildren(this.frame);
    const { ResizeObserver } = box.ownerDocument.defaultView;
    new ResizeObserver(() => {
      this.frame.style.transform = `scale(${box.clientWidth / WIDTH})`;
    }).observe(box);
    const page = this.frame.contentDocument;
    page.open();
    page.write('<!doctype html><meta charset="utf-8"><style></style>'); // the first: the formulas'
    page.close();
    page.head.append(...stylesOf(document).map(each => page.importNode(each, true)));
    for (const { name, value } of document.body.attributes) {
      page.body.setAttribute(name, value);
    }
    this.panel = emptyPanel(page);
    page.body.append(this.panel);
    this.stage = this.panel.querySelector('.jp-WindowedPanel-outer');
  }

  // Show a slide with its answers, or nothing after the last one. What was never on the stage is
  // drawn for it first, unseen.
  async show(slide) {
    this.wanted = slide;
    const { widgets } = this.presenter.notebook;
    const places = slide ? [slide.about, ...slide.cells.map(cell => cell.place)] : [];
    const nodes = places.filter(place => place !== undefined).map(place => widgets[place].node);
    nodes.forEach(node => node.classList.add('cp-aside'));
    await twoFrames();
    if (this.wanted === slide && this.panel.isConnected) {
      const about = widgets[slide?.about]?.node;
      this.put(nodes.map(node => this.copyOf(node, node === about)));
    }
    nodes.forEach(node => node.classList.remove('cp-aside'));
  }

  copyOf(node, isAbout) {
    const copy = copyOf(node, this.stage.ownerDocument);
    copy.classList.add('cp-on');
    copy.classList.remove('cp-covered', 'cp-aside');
    copy.classList.toggle('cp-about', isAbout);
    copy.classList.toggle('cp-figure', isAbout || node.classList.contains('cp-figure'));
    return copy;
  }

  put(copies) {
    this.stage.ownerDocument.querySelector('style').textContent = rulesOf(
      document.getElementById(FORMULAS)?.sheet
    );
    fill(this.panel, copies);
    fitSlide(this.stage, 1);
  }
}

// The boxes that a notebook has around its cells, and no cells.
export function emptyPanel(page) {
  const boxes = BOXES.map(() => page.createElement('div'));
  boxes.forEach((box, i) => {
    box.className = BOXES[i];
    boxes[i - 1]?.append(box);
  });
  return boxes[0];
}

export function fill(panel, cells) {
  panel.querySelector(`.${BOXES.at(-1)}`).replaceChildren(...cells);
}

// A copy of a node; each canvas has what is painted on it.
export function copyOf(node, page) {
  const copy = page.importNode(node, true);
  const painted = node.querySelectorAll('canvas');
  copy.querySelectorAll('canvas').forEach((canvas, i) => {
    if (painted[i].width && painted[i].height) {
      canvas.getContext('2d').drawImage(painted[i], 0, 0);
    }
  });
  return copy;
}

// The styles of a page, also those that only its scripts know, as elements.
function stylesOf(page) {
  const written = [...page.querySelectorAll('style, link[rel=stylesheet]')];
  const adopted = page.adoptedStyleSheets.map(sheet => {
    const style = page.createElement('style');
    style.textContent = rulesOf(sheet);
    return style;
  });
  return [...written, ...adopted];
}

const rulesOf = sheet => [...(sheet?.cssRules ?? [])].map(rule => rule.cssText).join('\n');

const twoFrames = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
