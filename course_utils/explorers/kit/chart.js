// Axes, lines, bars, dots and labels.

import { linear } from "./scale.js";
import { path, set, svg } from "./svg.js";
import { number } from "./words.js";

const EDGE = { left: 44, right: 14, top: 26, bottom: 44 };
const HEIGHT = 260;

/**
 * A chart in a stage. `label` is its accessible name; `x` and `y` have `label`, `domain`, `ticks`
 * ([value, text] or value) and, where it is not linear, `scale` from a value to the domain.
 */
export function chart(stage, { label, x, y, height = HEIGHT, edge = {} }) {
  return new Chart(stage, { label, x, y, height, edge: { ...EDGE, ...edge } });
}

class Chart {
  constructor(stage, options) {
    Object.assign(this, options, { marks: new Map() });
    this.frame = svg("g", { "aria-hidden": "true" });
    this.layer = svg("g");
    this.svg = svg("svg", { role: "img", "aria-label": this.label });
    this.svg.append(this.frame, this.layer);
    stage.append(this.svg);
  }

  /** Lay the axes out again, if the width, an axis (`x`, `y`) or the `height` has changed. */
  fit(width, axes = {}) {
    Object.assign(this, axes);
    const key = JSON.stringify([width, this.height, this.x, this.y]);
    if (key === this.laidOut) return;
    this.laidOut = key;
    const { edge, height } = this;
    set(this.svg, { width, height, viewBox: `0 0 ${width} ${height}` });
    const [right, bottom] = [width - edge.right, height - edge.bottom];
    this.inner = { left: edge.left, right, top: edge.top, bottom };
    this.xAt = linear(this.x.domain, [this.inner.left, this.inner.right]);
    this.yAt = linear(this.y.domain, [this.inner.bottom, this.inner.top]);
    this.frame.replaceChildren(...this.yAxis(), ...this.xAxis());
  }

  /** The place of a value along x, and along y. */
  atX(value) { return this.xAt(this.x.scale ? this.x.scale(value) : value); }
  atY(value) { return this.yAt(this.y.scale ? this.y.scale(value) : value); }

  xAxis() {
    const { inner, x } = this;
    const ticks = asTicks(x.ticks).map(([value, text]) =>
      svg("text", { x: this.atX(value), y: inner.bottom + 18, "text-anchor": "middle" }, text));
    const middle = (inner.left + inner.right) / 2;
    const name = { class: "ce-axis", x: middle, y: inner.bottom + 37, "text-anchor": "middle" };
    return [...ticks, svg("text", name, x.label)];
  }

  yAxis() {
    const { inner, y } = this;
    const rows = asTicks(y.ticks).flatMap(([value, text]) => {
      const at = this.atY(value);
      return [
        svg("line", { class: "ce-grid", x1: inner.left, x2: inner.right, y1: at, y2: at }),
        svg("text", { x: inner.left - 8, y: at + 4, "text-anchor": "end" }, text),
      ];
    });
    return [...rows, svg("text", { class: "ce-axis", x: inner.left, y: 12 }, y.label)];
  }

  /** The mark of a name, made at its first use. */
  mark(name, tag, attributes = {}) {
    if (!this.marks.has(name)) {
      const made = svg(tag);
      this.marks.set(name, made);
      this.layer.append(made);
    }
    return set(this.marks.get(name), attributes);
  }

  /** A line through points. */
  line(name, xs, ys, attributes = {}) {
    const d = path(Array.from(xs, each => this.atX(each)), Array.from(ys, each => this.atY(each)));
    return this.mark(name, "path", { class: "ce-line", fill: "none", ...attributes, d });
  }

  /** Bars from 0, one for each whole number along x. */
  bars(name, values, attributes = {}) {
    const zero = this.atY(0);
    const wide = 0.8 * Math.abs(this.atX(1) - this.atX(0));
    const d = Array.from(values, (value, i) => {
      const left = this.atX(i) - wide / 2;
      return `M${left} ${zero}V${this.atY(value)}h${wide}V${zero}Z`;
    }).join("");
    return this.mark(name, "path", { class: "ce-bars", ...attributes, d });
  }

  /** A dot. */
  dot(name, x, y, attributes = {}) {
    const place = { cx: this.atX(x), cy: this.atY(y) };
    return this.mark(name, "circle", { r: 6, ...attributes, ...place });
  }

  /** Words at a place, moved by some pixels. */
  text(name, x, y, words, { dx = 0, dy = 0, ...attributes } = {}) {
    const place = { x: this.atX(x) + dx, y: this.atY(y) + dy };
    const made = this.mark(name, "text", { ...attributes, ...place });
    set(made, { text: words });
    return made;
  }
}

const asTicks = ticks => ticks.map(each => (Array.isArray(each) ? each : [each, written(each)]));
const written = value => (typeof value === "number" ? number(value, decimals(value)) : value);

const decimals = value => (String(value).split(".")[1] ?? "").length;
