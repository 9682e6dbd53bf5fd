// Waits for the notebook that JupyterLab opens, and presents it.

import { Presenter } from './presenter.js';
import { printable } from './print.js';

// The page is to be printed, with the outputs that the notebook has: nothing is run.
const PRINTS = new URLSearchParams(location.search).has('print');
const PATIENCE = 60_000; // milliseconds for the kernel to be chosen and started

export async function start(app) {
  addStyle();
  await app.restored;
  const panel = await firstNotebook(app);
  await panel.context.ready;
  await panel.revealed;
  const presenter = new Presenter(app, panel);
  window.coursePresenter = presenter; // for tests, and for whoever looks into it
  presenter.enter();
  if (PRINTS) {
    window.coursePages = await printable(presenter);
    return;
  }
  await kernelOf(panel);
  presenter.runAll();
}

function addStyle() {
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = new URL('presenter.css', import.meta.url).href;
  document.head.append(link);
}

// The notebook on the page, as soon as there is one.
function firstNotebook(app) {
  const find = () => [...app.shell.widgets('main')].find(each => each.content?.model?.cells);
  return new Promise(resolve => {
    const found = find();
    if (found) {
      resolve(found);
      return;
    }
    const timer = setInterval(() => {
      const panel = find();
      if (panel) {
        clearInterval(timer);
        resolve(panel);
      }
    }, 50);
  });
}

async function kernelOf(panel) {
  const patience = new Promise(resolve => setTimeout(resolve, PATIENCE));
  await Promise.race([panel.sessionContext.ready, patience]);
  await panel.sessionContext.session?.kernel?.info;
}
