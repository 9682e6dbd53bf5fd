// What a reader's JupyterLab gets beside the course. What it loads of a prebuilt extension is written
// by hand, since this needs no bundler.
(() => {
  // In Notebook 7 the arrow keys go from cell to cell even while a slider has the focus: it looks at
  // every key before the slider does. Its shortcuts leave alone what has this attribute.
  const CONTROLS = '.course-explorer :is([role=slider], select, input)';
  const SPARED = 'data-lm-suppress-shortcuts';

  // Figures are drawn on white and marked by `show`. In a dark theme light and dark change places,
  // hues stay, and what has become black lets the page through.
  const FIGURES = `@media screen {
    [data-jp-theme-light="false"] .jp-RenderedImage img.jp-needs-light-background {
      filter: invert(1) hue-rotate(180deg);
      mix-blend-mode: screen;
    }
  }`;

  const plugin = {
    id: 'attention-course:plugin',
    description: 'Figures in a dark theme, and the arrow keys for an explorer.',
    autoStart: true,
    activate: () => {
      document.head.append(Object.assign(document.createElement('style'), { textContent: FIGURES }));
      window.addEventListener('keydown', event => {
        if (event.target.matches?.(CONTROLS)) {
          event.target.toggleAttribute(SPARED, event.key.startsWith('Arrow'));
        }
      }, true);
    }
  };

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB['attention-course'] = {
    init: () => {},
    get: () => Promise.resolve(() => ({ __esModule: true, default: plugin }))
  };
})();
