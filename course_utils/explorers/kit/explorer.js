// An explorer in the page: title, presets, picture, controls, caption; one loop for its state.

import style from "./kit.css";
import { absent, control } from "./controls.js";
import { decode, lookUp } from "./data.js";
import { clamp } from "./scale.js";
import { letWordsAct } from "./sets.js";
import { freshId, html, set } from "./svg.js";
import { followSharpness, followTheme } from "./theme.js";
import { parts, plain } from "./words.js";

const REST = 500; // ms without a change, after which a screen reader is told
const SILENCE = 2000; // ms without an answer, after which a kernel counts as gone
const EASING = 300; // ms in which marks may move by themselves, after a preset
const GONE =
  "Python does not answer. Run this cell again to connect it; the picture is the last that worked.";
const LATE =
  "Python does not answer yet. Another cell may still be running; if none is, run this cell again.";

// What is half drawn is not seen, and takes no room that its page did not keep for it.
const COMING = { visibility: "hidden", height: "0", overflow: "hidden" };

/** The module of an explorer: what draws and, in the hand, what computes. */
export const explorer = ({ mount, compute, caption, style: own = "" }) => ({
  render: ({ model, el }) => new Shown({ mount, compute, caption, own }, model, el).close,
});

class Shown {
  constructor(view, model, el) {
    Object.assign(this, { view, model, ends: [] });
    this.spec = model.get("spec");
    this.values = { ...model.get("values") };
    this.build(el);
    this.receive();
    this.hand = this.makeHand();
    this.parts = this.mounted();
    this.listen();
    letWordsAct();
    this.close = () => this.ends.forEach(end => end());
    // A page that opens stays quick: each part is drawn, and laid out, in a task of its own.
    if (model.get("alone")) {
      this.drawn = 1;
      Object.assign(this.root.style, COMING);
      this.stage.style.contentVisibility = "hidden";
      afterFrame(() => this.start());
    } else this.start();
  }

  /** Draw in the page's colours, now and whenever they change. */
  start() {
    this.width = this.stage.clientWidth; // only now: a view may have moved the controls
    this.stage.style.contentVisibility = "";
    this.ends.push(followTheme(this.root, theme => {
      this.theme = theme;
      this.drawNow();
    }));
    this.drawOthers();
  }

  /** The parts that a page has not drawn yet, each in its turn; then all are seen. */
  drawOthers() {
    if (this.drawn < this.parts.length) {
      afterFrame(() => {
        this.drawn += 1;
        this.drawNow();
        this.drawOthers();
      });
    } else Object.keys(COMING).forEach(name => { this.root.style[name] = ""; });
  }

  /** What `mount` gets beside its stage. */
  makeHand() {
    const shown = this;
    return {
      inputs: this.spec.inputs,
      get values() { return shown.values; },
      get width() { return shown.width; },
      get given() { return shown.given; },
      get alone() { return Boolean(shown.model.get("alone")); },
      change: values => this.change(values),
      clamp: (name, value) => clamp(value, this.spec.inputs[name].min, this.spec.inputs[name].max),
      onClose: end => this.ends.push(end),
    };
  }

  /** What draws the view's parts; a view that cannot be built says so with every state. */
  mounted() {
    try {
      return [this.view.mount(this.stage, this.hand)].flat();
    } catch (error) {
      return [() => { throw error; }];
    }
  }

  build(el) {
    const { title, reading, presets } = this.spec;
    const id = freshId();
    this.root = html("section", { class: "course-explorer ce", "aria-labelledby": id });
    this.stage = html("div", { class: "ce-stage" });
    this.caption = html("p", { class: "course-caption ce-caption" });
    this.problem = html("p", { class: "course-error ce-problem", role: "alert", hidden: true });
    this.live = html("p", { class: "ce-heard", role: "status", "aria-live": "polite" });
    this.controls = this.buildControls();
    const controls = Object.values(this.controls).map(each => each.element);
    this.root.append(
      html("style", {}, this.view.own),
      html("h3", { class: "course-title ce-title", id, "aria-level": "2" }, title),
      this.buildPresets(presets),
      html(
        "div",
        { class: "ce-body" },
        this.stage,
        html("div", { class: "ce-controls" }, ...controls),
      ),
      this.problem,
      this.caption,
      ...(reading ? [buildReading(reading)] : []),
      this.live,
    );
    putStyle();
    if (!controls.length) this.root.classList.add("ce-bare");
    el.replaceChildren(this.root);
  }

  buildControls() {
    const { inputs, order } = this.spec;
    const shown = order.map(name => [name, inputs[name]]).filter(([, each]) => !each.in_picture);
    const isAbsent = name => this.model.get("alone") && this.spec.served.includes(name);
    return Object.fromEntries(shown.map(([name, each]) => [
      name,
      isAbsent(name) ? absent(each) : control(each, value => this.change({ [name]: value })),
    ]));
  }

  buildPresets(presets) {
    this.presets = presets.map(([label, values]) => {
      const button = html("button", { type: "button" }, label);
      button.addEventListener("click", () => {
        this.ease();
        button.scrollIntoView({ block: "nearest", inline: "nearest" }); // of a row that scrolls
        this.change(values);
      });
      return { button, values };
    });
    const buttons = this.presets.map(each => each.button);
    const named = { class: "course-presets ce-presets", role: "group", "aria-label": "presets" };
    return html("div", { ...named, hidden: !buttons.length }, ...buttons);
  }

  /** Take what Python has computed; where it belongs to values of before, only if it may trail. */
  receive() {
    const given = this.model.get("given");
    const isOfNow = Object.entries(given.for).every(([name, value]) => same(value, this.values[name]));
    if (isOfNow || this.spec.trailing) this.given = decode(given.data);
    if (!isOfNow) return;
    clearTimeout(this.silence);
    if (this.waits()) this.say("");
  }

  listen() {
    const on = (what, act) => {
      this.model.on(what, act);
      this.ends.push(() => this.model.off(what, act));
    };
    on("change:given", () => {
      this.receive();
      this.redraw();
    });
    on("change:values", () => {
      const values = this.model.get("values");
      if (Object.keys(values).every(name => same(values[name], this.values[name]))) return;
      this.values = { ...values };
      this.receive();
      this.redraw();
    });
    on("change:problem", () => {
      clearTimeout(this.silence);
      this.say(this.model.get("problem").trim());
    });
    const sized = new ResizeObserver(() => this.resize());
    sized.observe(this.stage);
    this.ends.push(followSharpness(() => {
      if (!this.theme) return;
      this.theme = { ...this.theme }; // for views that paint a canvas only where something is new
      this.drawNow();
    }));
    const spare = event => spareKey(event, this.root);
    window.addEventListener("keydown", spare, true);
    // The classic notebook listens further out, and would take a key for a command.
    this.root.addEventListener("keydown", event => isOurs(event) && event.stopPropagation());
    this.ends.push(() => sized.disconnect());
    this.ends.push(() => window.removeEventListener("keydown", spare, true));
    this.ends.push(() => [this.silence, this.rest, this.sent, this.eased].forEach(clearTimeout));
  }

  resize() {
    const width = this.stage.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    this.drawNow();
  }

  change(values) {
    const before = this.values;
    this.values = { ...before, ...values };
    const asks = this.spec.served.some(name => !same(before[name], this.values[name]));
    if (asks) this.ask();
    else {
      clearTimeout(this.sent);
      this.sent = setTimeout(() => this.send(), REST / 2);
    }
    this.redraw();
  }

  send() {
    this.model.set("values", { ...this.values });
    this.model.save_changes();
  }

  ask() {
    this.send();
    clearTimeout(this.silence);
    // ipywidgets marks what has lost its kernel; one that is at work is only late.
    const gone = () => this.root.closest(".jupyter-widgets-disconnected");
    this.silence = setTimeout(() => this.say(gone() ? GONE : LATE), SILENCE);
  }

  /** Whether the last word is that an answer has not come. */
  waits() {
    return this.said === GONE || this.said === LATE;
  }

  /** Marks move by themselves for a moment, for those who have not asked for less motion. */
  ease() {
    this.root.classList.add("ce-easing");
    clearTimeout(this.eased);
    this.eased = setTimeout(() => this.root.classList.remove("ce-easing"), EASING);
  }

  /** Draw once in the next frame, however many changes come before it. */
  redraw() {
    this.frame ??= requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    this.frame = undefined;
    if (!this.theme) return;
    for (const [name, each] of Object.entries(this.controls)) each.show(this.values[name]);
    // Of presets that hold, the one that says most is lit.
    const said = this.presets.map(({ values }) => Object.entries(values))
      .map(each => (each.every(([name, value]) => same(value, this.values[name])) ? each.length : 0));
    this.presets.forEach(({ button }, i) =>
      set(button, { "aria-pressed": String(said[i] > 0 && said[i] === Math.max(...said)) }));
    try {
      const { state, caption } = this.stateNow();
      this.write(caption); // first: a part that asks where its marks are has all of it laid out
      this.parts.slice(0, this.drawn).forEach(draw => draw(state, this.values, this.theme));
      if (!this.waits()) this.say("");
    } catch (error) {
      this.say(`${error.message ?? error}. The picture is the last that worked.`);
    }
  }

  stateNow() {
    const { compute, caption } = this.view;
    if (this.given.table) return lookUp(this.given.table, this.values);
    const state = compute(this.values, this.given);
    return { state, caption: caption(state) };
  }

  write(caption) {
    if (caption === this.written) return;
    const isFirst = this.written === undefined; // a page that opens does not speak
    this.written = caption;
    const words = parts(caption);
    const kinds = words.map(([kind]) => `${kind};`).join(""); // none is not one that is plain
    if (kinds === this.kinds) {
      this.caption.childNodes.forEach((each, i) => set(each, { text: words[i][1] }));
    } else {
      this.kinds = kinds;
      this.caption.replaceChildren(
        ...words.map(([kind, text]) => (kind ? html("b", { class: kind }, text) : text)));
    }
    if (isFirst) return;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      set(this.live, { text: plain(caption) });
    }, REST);
  }

  say(sentence) {
    if (sentence === this.said) return;
    this.said = sentence;
    set(this.problem, { text: sentence });
    this.problem.hidden = !sentence;
  }
}

/** The kit's style, once and before every view's own: of two rules alike the later one holds. */
function putStyle() {
  const known = document.head.querySelector("style.ce-kit");
  if (known?.textContent === style) return;
  known?.remove(); // a notebook from before the course was brought up to date
  document.head.append(html("style", { class: "ce-kit" }, style));
}

function buildReading(reading) {
  const summary = html("summary", {}, "How to read this");
  return html("details", { class: "ce-reading" }, summary, html("p", {}, reading));
}

const afterFrame = act => requestAnimationFrame(() => setTimeout(act));

const same = (one, other) => one === other || JSON.stringify(one) === JSON.stringify(other);

/** Running the cell and leaving it stay with the notebook. */
const isOurs = event =>
  event.key !== "Escape" && !(event.key === "Enter" && (event.shiftKey || event.ctrlKey));

/** JupyterLab's shortcuts leave a key alone when the element that has the focus says so. */
function spareKey(event, root) {
  if (root.contains(event.target)) {
    event.target.toggleAttribute("data-lm-suppress-shortcuts", isOurs(event));
  }
}
