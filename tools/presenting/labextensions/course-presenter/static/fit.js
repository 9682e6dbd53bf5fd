// The largest zoom at which a slide needs no scrolling.

export const LARGEST = 1.7; // in a window of 1280 x 720
export const SMALLEST = 0.5;
const STEP = 0.05;

// How many times larger than 1280 x 720 the window is, at least 1: a slide looks the same on every
// projector, so all its sizes grow with the window.
export function scaleToWindow() {
  const scale = Math.max(1, Math.min(window.innerWidth / 1280, window.innerHeight / 720));
  document.documentElement.style.setProperty('--cp-scale', String(scale));
  return scale;
}

// Whether anything is cut off or has to be scrolled for. `stage` is the scrolling box.
export function overflows(stage) {
  if (stage.scrollHeight > stage.clientHeight + 1 || stage.scrollWidth > stage.clientWidth + 1) {
    return true;
  }
  const boxes = stage.querySelectorAll(
    '.cp-on .cm-scroller, .cp-on .jp-OutputArea-output, .cp-on .jp-RenderedHTML div, ' +
      '.cp-on .jp-RenderedMarkdown, .cp-on pre'
  );
  return [...boxes].some(box => box.offsetParent && box.scrollWidth > box.clientWidth + 1);
}

// Zoom the stage so that all of the slide is seen; return the zoom.
// Sizes change in steps: halving the interval of steps finds the largest that fits.
export function fit(stage, largest = LARGEST) {
  let fits = Math.round(SMALLEST / STEP);
  let tooLarge = Math.round(largest / STEP) + 1;
  while (tooLarge - fits > 1) {
    const middle = Math.floor((fits + tooLarge) / 2);
    set(stage, middle * STEP);
    if (overflows(stage)) {
      tooLarge = middle;
    } else {
      fits = middle;
    }
  }
  return set(stage, fits * STEP);
}

function set(stage, zoom) {
  const rounded = Number(zoom.toFixed(2));
  stage.style.setProperty('--cp-zoom', String(rounded));
  return rounded;
}
