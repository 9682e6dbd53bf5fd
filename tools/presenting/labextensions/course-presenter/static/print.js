// All slides one after another, each on a page of its own: for a PDF.

import { PAIRED, SCROLLS, fit } from './fit.js';
import { copyOf, emptyPanel, fill } from './preview.js';

const QUIET = 150; // milliseconds without a change, after which a slide has its words and pictures
const PATIENCE = 10_000;
const FORMULA = /\$[^$]+\$/; // one that is not set yet

// Put a copy of every slide, with its answers, in the place of the page; return how many there are.
export async function printable(presenter) {
  const pages = document.createElement('div');
  pages.className = 'cp-print';
  const count = presenter.slides.length;
  for (let place = 0; place < count; place += 1) {
    presenter.show(place, Infinity);
    await settled(presenter.stage);
    presenter.lay();
    pages.append(pageOf(presenter, `${place + 1} / ${count}`));
  }
  document.body.append(pages);
  document.documentElement.classList.add('cp-printing');
  return count;
}

function pageOf(presenter, number) {
  const page = document.createElement('section');
  const foot = document.createElement('footer');
  foot.textContent = number;
  const panel = emptyPanel(document);
  const shown = [...presenter.stage.querySelectorAll('.cp-on')];
  const { classList } = presenter.panel.node;
  classList.remove(SCROLLS); // on paper nothing scrolls
  panel.classList.toggle(PAIRED, classList.contains(PAIRED));
  const { scale, stage } = presenter;
  const zoom = scale * fit(stage, presenter.zoom / scale, scale);
  panel.style.setProperty('--cp-zoom', String(zoom));
  panel.style.setProperty('--cp-share', stage.style.getPropertyValue('--cp-share'));
  fill(panel, shown.map(node => copyOf(node, document)));
  page.append(panel, foot);
  return page;
}

// Wait until nothing has changed on the stage for a moment, every text is there and its formulas are set.
async function settled(stage) {
  const end = performance.now() + PATIENCE;
  let changed = performance.now();
  const watch = new MutationObserver(() => (changed = performance.now()));
  watch.observe(stage, { subtree: true, childList: true, characterData: true });
  const isReady = () => performance.now() - changed > QUIET && !waits(stage);
  while (!isReady() && performance.now() < end) {
    await new Promise(done => setTimeout(done, QUIET / 3));
  }
  watch.disconnect();
}

function waits(stage) {
  const texts = [...stage.querySelectorAll('.cp-on .jp-RenderedMarkdown p')];
  const pictures = [...stage.querySelectorAll('.cp-on img')];
  const cells = [...stage.querySelectorAll('.cp-on.jp-MarkdownCell')];
  const isEmpty = cell => !cell.querySelector('.jp-RenderedMarkdown > *');
  const isOpen = text => [...text.childNodes].some(node => FORMULA.test(node.nodeValue ?? ''));
  return cells.some(isEmpty) || texts.some(isOpen) || pictures.some(image => !image.complete);
}
