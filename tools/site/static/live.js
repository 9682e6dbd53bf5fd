// On a page of the site: an explorer is loaded when it is nearly in view.

import { show } from "../../../course_utils/explorers/kit/host.js";
import { changed, linked, sent } from "./views.js";

const AHEAD = "700px"; // how far below the screen loading begins
const LATEST = 300; // ms after which an explorer does not wait for the page to be idle
const loading = {};
const idle = globalThis.requestIdleCallback ?? (act => setTimeout(act, 1));
let last = Promise.resolve();

/** Watch every explorer of a page. */
export function start(page) {
  const watch = new IntersectionObserver(entries => entries.forEach(entry => {
    if (!entry.isIntersecting) return;
    watch.unobserve(entry.target);
    place(entry.target);
  }), { rootMargin: AHEAD });
  page.querySelectorAll("[data-view]").forEach(box => watch.observe(box));
  sent(page, location.hash)?.box.scrollIntoView();
  const wide = new ResizeObserver(seen => seen.forEach(({ target }) => reach(target)));
  page.querySelectorAll("pre, .table-wrapper").forEach(box => wide.observe(box));
  // On a phone the contents lie over the page: whoever has chosen a section wants to see it.
  page.querySelector(".toc-tree")?.addEventListener("click", event => {
    if (event.target.closest("a")) page.querySelector("#__toc").checked = false;
  });
}

/** What scrolls sideways can be reached by key. */
function reach(box) {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
}

async function place(box) {
  const { root, view, given } = box.dataset;
  const isKit = view in courseKit; // a prediction, with its data beside it
  try {
    if (!isKit) await Promise.all([view, ...given.split(" ")].map(name => load(`${root}${name}.js`)));
  } catch {
    return still(box);
  }
  await turn();
  const shown = isKit ? courseKit[view] : globalThis.courseViews[view];
  const data = isKit ? JSON.parse(box.querySelector("script").textContent) : await toldOf(given);
  if (!data) return still(box);
  await turn(); // apart from the unpacking
  const model = show(shown.default, box, changed(data, box, location.hash));
  if (!isKit) linked(box, data, model);
}

/** The picture as it is without JavaScript, where what it needs does not come. */
function still(box) {
  const why = document.createElement("p");
  why.textContent = "This picture did not load, so it does not move.";
  box.insertAdjacentHTML("afterbegin", box.querySelector("noscript")?.textContent ?? "");
  box.append(why);
}

/** All that an explorer is told; null where a part is damaged. */
async function toldOf(names) {
  try {
    const parts = await Promise.all(names.split(" ").map(unpacked));
    return Object.assign({}, ...parts.map(each => JSON.parse(each)));
  } catch {
    return null;
  }
}

/** Data of an explorer, which the site keeps compressed. */
async function unpacked(name) {
  const { body } = await fetch(`data:application/gzip;base64,${globalThis.courseData[name]}`);
  return new Response(body.pipeThrough(new DecompressionStream("gzip"))).text();
}

/** One after another, each when the page has time for it, so that a page that opens stays quick. */
function turn() {
  last = last.then(() => new Promise(now => idle(now, { timeout: LATEST })));
  return last;
}

/** A script tag, since a page from a disk may load nothing else. */
function load(source) {
  loading[source] ??= new Promise((loaded, failed) => {
    const script = document.createElement("script");
    Object.assign(script, { src: source, onload: loaded, onerror: failed });
    document.head.append(script);
  });
  return loading[source];
}
