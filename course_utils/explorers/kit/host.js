// A page without a kernel: the values live in the page.

/** Show an explorer's module where its script stands. */
export function host(view, script) {
  const box = script.parentElement;
  const data = JSON.parse(box.querySelector('script[type="application/json"]').textContent);
  view.render({ model: modelOf(data), el: box });
}

/** What a module asks of a widget's model. Nobody answers, so nothing is ever served. */
function modelOf(data) {
  const held = { problem: "", alone: true, ...data };
  return {
    get: name => held[name],
    set: (name, value) => {
      held[name] = value;
    },
    on: () => {},
    off: () => {},
    save_changes: () => {},
  };
}
