// Elements in one line each.

const SVG = "http://www.w3.org/2000/svg";
const OWN = Math.random().toString(36).slice(2, 8); // a page has a copy of this module for each view
let count = 0;

/** An id that nothing else on the page has. */
export const freshId = () => `ce-${OWN}-${(count += 1)}`;

/** An SVG element with its attributes and children. */
export const svg = (tag, attributes, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

/** An HTML element with its attributes and children. */
export const html = (tag, attributes, ...children) =>
  filled(document.createElement(tag), attributes, children);

function filled(element, attributes = {}, children) {
  set(element, attributes);
  element.append(...children);
  return element;
}

/**
 * Set several attributes, and as `text` what stands inside; false and undefined take one away.
 * What is there already costs nothing.
 */
export function set(element, attributes) {
  for (const name in attributes) {
    const value = attributes[name];
    if (name === "text") write(element, String(value ?? ""));
    else if (value === false || value === undefined) element.removeAttribute(name);
    else {
      const text = value === true ? "" : String(value);
      if (element.getAttribute(name) !== text) element.setAttribute(name, text);
    }
  }
  return element;
}

function write(element, text) {
  const first = element.firstChild;
  // A text node with other words is laid out sooner than another node in its place.
  const node = first instanceof Text && first === element.lastChild ? first : element;
  if (node.textContent !== text) node.textContent = text;
}

/** The `d` of a path through points; where a number is missing, the line is lifted. */
export function path(xs, ys) {
  let d = "";
  let lifted = true;
  for (let i = 0; i < xs.length; i += 1) {
    if (Number.isFinite(xs[i]) && Number.isFinite(ys[i])) {
      d += `${lifted ? "M" : "L"}${xs[i].toFixed(1)} ${ys[i].toFixed(1)}`;
      lifted = false;
    } else lifted = true;
  }
  return d;
}
