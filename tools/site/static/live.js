// On a page of the site: an explorer is loaded when it is nearly in view.

import { show } from "../../../course_utils/explorers/kit/host.js";

const AHEAD = "700px"; // how far below the screen loading begins
const loading = {};

/** Watch every explorer of a page. */
export function start(page) {
  const watch = new IntersectionObserver(entries => entries.forEach(entry => {
    if (!entry.isIntersecting) return;
    watch.unobserve(entry.target);
    place(entry.target);
  }), { rootMargin: AHEAD });
  page.querySelectorAll("[data-view]").forEach(box => watch.observe(box));
}

async function place(box) {
  const { root, view, given } = box.dataset;
  try {
    await Promise.all([view, given].map(name => load(`${root}${name}.js`)));
  } catch {
    return; // the words stay
  }
  show(globalThis.courseViews[view].default, box, globalThis.courseData[given]);
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
