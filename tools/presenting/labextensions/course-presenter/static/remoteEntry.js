// What JupyterLab loads of a prebuilt extension: a container with `init` and `get`.
// It is written by hand, since plain modules need no bundler; they lie beside this file.
(() => {
  const here = document.currentScript.src;

  const plugin = {
    id: 'course-presenter:plugin',
    description: 'One slide at a time, in the notebook itself.',
    autoStart: true,
    activate: app => {
      import(new URL('start.js', here).href)
        .then(module => module.start(app))
        .catch(error => console.error('The slides could not start; the notebook is whole.', error));
    }
  };

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB['course-presenter'] = {
    init: () => {},
    get: () => Promise.resolve(() => ({ __esModule: true, default: plugin }))
  };
})();
