// Players: an explorer's sliders over pictures that were made beforehand. No kernel, no framework.
// Each figure.course-player holds its first picture, its caption, and a JSON script that names all
// frames. Without JavaScript there is nothing else; this file adds the controls.
"use strict";

(() => {
  let made = 0;

  /** Add an element, with its properties and attributes. */
  function add(parent, tag, properties = {}, attributes = {}) {
    const element = Object.assign(document.createElement(tag), properties);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    parent.append(element);
    return element;
  }

  class Player {
    constructor(figure) {
      this.page = JSON.parse(figure.querySelector("script").textContent);
      this.picture = figure.querySelector("img");
      this.words = figure.querySelector("figcaption");
      this.at = this.page.controls.map((control) => control.start);
      this.loading = new Map();
      this.wanted = "";
      this.number = made++;
      this.words.setAttribute("aria-live", "polite");
      const panel = document.createElement("div");
      panel.className = "player-panel";
      const sliders = this.page.controls.filter((control) => control.form === "slider");
      const widths = sliders.flatMap((control) => control.texts).map((text) => text.length);
      panel.style.setProperty("--widest", `${Math.max(0, ...widths)}ch`);
      this.movers = this.page.controls.map((control, axis) => this.addControl(panel, control, axis));
      if (this.page.scenes.length) this.addScenes(panel);
      this.picture.before(panel);
      this.note = document.createElement("p");
      this.note.className = "player-note";
      this.note.setAttribute("aria-live", "polite");
      this.words.after(this.note);
      this.loadNeighboursOnceSeen(figure);
    }

    /** The place of a frame in the list: the last control changes fastest. */
    index(at) {
      return at.reduce((sum, stop, axis) => sum * this.page.controls[axis].texts.length + stop, 0);
    }

    addControl(panel, control, axis) {
      const row = add(panel, "div", { className: "player-control" });
      const id = `player-${this.number}-${axis}`;
      add(row, "label", { textContent: control.label, htmlFor: id });
      return control.form === "list"
        ? this.addList(row, control, axis, id)
        : this.addSlider(row, control, axis, id);
    }

    /** A slider over the stops; returns the function that shows a stop. */
    addSlider(row, control, axis, id) {
      const max = control.texts.length - 1;
      const slider = add(row, "input", { type: "range", id, min: 0, max, step: 1 });
      const output = add(row, "output", {}, { for: id });
      slider.addEventListener("input", () => this.move(axis, Number(slider.value)));
      return (stop) => {
        slider.value = stop;
        slider.setAttribute("aria-valuetext", control.texts[stop]);
        output.textContent = control.texts[stop];
      };
    }

    addList(row, control, axis, id) {
      const list = add(row, "select", { id });
      control.texts.forEach((text, stop) => add(list, "option", { textContent: text, value: stop }));
      list.addEventListener("change", () => this.move(axis, Number(list.value)));
      return (stop) => { list.value = stop; };
    }

    addScenes(panel) {
      const row = add(panel, "div", { className: "player-scenes" });
      row.setAttribute("role", "group");
      row.setAttribute("aria-label", "scenes");
      for (const scene of this.page.scenes) {
        const button = add(row, "button", { type: "button", textContent: scene.label });
        const at = () => scene.at.map((stop, i) => stop ?? this.at[i]);
        button.addEventListener("click", () => this.show(at(), scene));
      }
    }

    move(axis, stop) {
      this.show(this.at.map((old, i) => (i === axis ? stop : old)));
    }

    /**
     * Show a frame once its picture is there; the latest that was asked for wins. A scene that
     * moves what no control here moves has a frame of its own, and says what it moves.
     */
    show(at, { frame = null, also = [] } = {}) {
      this.at = at;
      this.showControls();
      this.note.textContent = also.length ? `In this scene alone, ${also.join("; ")}.` : "";
      const [name, words] = this.page.frames[frame ?? this.index(at)];
      this.wanted = name;
      this.load(name).then(
        (address) => { if (this.wanted === name) this.put(address, words); },
        () => { if (this.wanted === name) this.words.textContent = "This picture did not load."; },
      );
      this.loadNeighbours();
    }

    showControls() {
      this.movers.forEach((show, axis) => show(this.at[axis]));
    }

    put(address, words) {
      this.picture.src = address;
      this.picture.alt = words;
      this.words.textContent = words;
    }

    /** A promise of a picture's address, decoded, so that it is painted without a blank. */
    load(name) {
      if (!this.loading.has(name)) {
        const image = new Image();
        image.src = this.page.folder + name;
        const loaded = image.decode().then(() => image.src);
        loaded.catch(() => this.loading.delete(name)); // asked for again, it is tried again
        this.loading.set(name, loaded);
      }
      return this.loading.get(name);
    }

    loadNeighbours() {
      this.page.controls.forEach((control, axis) => {
        for (const step of [-1, 1]) {
          const stop = this.at[axis] + step;
          if (stop < 0 || stop >= control.texts.length) continue;
          const next = this.at.map((old, i) => (i === axis ? stop : old));
          this.load(this.page.frames[this.index(next)][0]).catch(() => {});
        }
      });
    }

    /** Nothing is fetched for a player that nobody scrolls to. */
    loadNeighboursOnceSeen(figure) {
      this.showControls();
      const watcher = new IntersectionObserver((entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        watcher.disconnect();
        this.loadNeighbours();
      });
      watcher.observe(figure);
    }
  }

  document.querySelectorAll("figure.course-player").forEach((figure) => new Player(figure));

  // On paper folded answers are open, for nobody can unfold them, and letters are dark.
  const page = document.documentElement.dataset;
  let opened = [];
  let theme = page.theme;
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((details) => { details.open = true; });
    theme = page.theme;
    page.theme = "light";
  });
  addEventListener("afterprint", () => {
    opened.forEach((details) => { details.open = false; });
    page.theme = theme;
  });
})();
