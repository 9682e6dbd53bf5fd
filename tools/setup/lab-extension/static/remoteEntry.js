// What a reader's JupyterLab gets beside the course. What it loads of a prebuilt extension is written
// by hand, since this needs no bundler.
(() => {
  // Figures are drawn on white and marked by `show`. In a dark theme light and dark change places,
  // hues stay, and what has become black lets the page through.
  const FIGURES = `@media screen {
    [data-jp-theme-light="false"] .jp-RenderedImage img.jp-needs-light-background {
      filter: invert(1) hue-rotate(180deg);
      mix-blend-mode: screen;
    }
  }`;

  // What is printed wraps between words: a model's stories are sentences.
  const PRINTED = `.jp-RenderedText pre { word-break: normal; overflow-wrap: anywhere; }`;

  const plugin = {
    id: 'attention-course:plugin',
    description: 'Figures at home in a dark theme; printed lines wrap between words.',
    autoStart: true,
    activate: () => {
      const textContent = FIGURES + PRINTED;
      document.head.append(Object.assign(document.createElement('style'), { textContent }));
    }
  };

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB['attention-course'] = {
    init: () => {},
    get: () => Promise.resolve(() => ({ __esModule: true, default: plugin }))
  };
})();
