// In Notebook 7 the arrow keys go from cell to cell even while a slider has the focus: it looks at
// every key before the slider does. Its shortcuts leave alone what has this attribute. What
// JupyterLab loads of a prebuilt extension is written by hand, since this needs no bundler.
(() => {
  const CONTROLS = '.course-explorer :is([role=slider], select, input)';
  const SPARED = 'data-lm-suppress-shortcuts';

  const plugin = {
    id: 'attention-course-keys:plugin',
    description: 'Leaves the arrow keys to the controls of an explorer.',
    autoStart: true,
    activate: () => {
      window.addEventListener('keydown', event => {
        if (event.target.matches?.(CONTROLS)) {
          event.target.toggleAttribute(SPARED, event.key.startsWith('Arrow'));
        }
      }, true);
    }
  };

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB['attention-course-keys'] = {
    init: () => {},
    get: () => Promise.resolve(() => ({ __esModule: true, default: plugin }))
  };
})();
