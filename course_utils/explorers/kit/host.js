// A page without a kernel: the values live in the page.

/** Show an explorer's module in an element, with the data that it is told; returns its model. */
export function show(view, box, data) {
  const model = modelOf(data);
  view.render({ model, el: box });
  return model;
}

/** Show an explorer's module where its script stands, with the data beside it. */
export function host(view, script) {
  const box = script.parentElement;
  const data = box.querySelector('script[type="application/json"]').textContent;
  show(view, box, JSON.parse(data));
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
