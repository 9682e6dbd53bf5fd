// The largest zoom at which a slide needs no scrolling.

export const SCROLLS = 'cp-scrolls'; // a table too long to be read at once scrolls in a box of its own
export const PAIRED = 'cp-paired'; // a picture, and beside it the words about it
const LARGEST = 1.7; // in a window of 1280 x 720
const COMFORTABLE = 1.2; // the zoom from which a slide's words read well from afar
const BESIDE = 1.2;
// How large a picture is beside its words, of its size on a slide of its own: as the words allow.
const SHARES = [0.68, 0.62, 0.55, 0.48];
const READABLE = 1.15;
const PRINTED = 1.25; // the same for what code prints, whose letters are smaller
const SMALLEST = 0.5;
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

// Zoom a slide so that all of it is seen; return the zoom, for a window of 1280 x 720: what is beside
// what is the same on every projector. What an answer is about is above it or beside it; where that
// makes it too small, the words alone are shown. A long table that would be too small scrolls.
export function fitSlide(stage, scale) {
  const panel = stage.closest('.cp-panel');
  const about = stage.querySelector('.cp-about');
  const hasPicture = Boolean(about?.querySelector('.ce, .jp-RenderedImage'));
  panel.classList.remove(PAIRED, SCROLLS);
  let zoom = fit(stage, hasPicture ? BESIDE : LARGEST, scale);
  if (hasPicture && zoom < READABLE) {
    panel.classList.add(PAIRED);
    zoom = fitBeside(stage, scale);
  }
  if (about && zoom < (hasPicture ? READABLE : PRINTED)) {
    about.classList.remove('cp-on', 'cp-about');
    panel.classList.remove(PAIRED);
    zoom = fit(stage, LARGEST, scale);
  }
  if (zoom < READABLE && stage.querySelector('.cp-on.cp-figure table')) {
    panel.classList.add(SCROLLS);
    zoom = fit(stage, COMFORTABLE, scale);
  }
  return zoom;
}

// The largest picture whose words beside it read well; return the zoom.
function fitBeside(stage, scale) {
  let zoom;
  for (const share of SHARES) {
    stage.style.setProperty('--cp-share', String(share));
    zoom = fit(stage, BESIDE, scale);
    if (zoom >= READABLE) {
      break;
    }
  }
  return zoom;
}

// Zoom the stage so that nothing is cut off; return the zoom, for a window of 1280 x 720.
// Sizes change in steps: halving the interval of steps finds the largest that fits.
export function fit(stage, largest, scale) {
  let fits = Math.round(SMALLEST / STEP);
  let tooLarge = Math.round(largest / STEP) + 1;
  while (tooLarge - fits > 1) {
    const middle = Math.floor((fits + tooLarge) / 2);
    set(stage, middle, scale);
    if (overflows(stage)) {
      tooLarge = middle;
    } else {
      fits = middle;
    }
  }
  return set(stage, fits, scale);
}

function set(stage, steps, scale) {
  const zoom = Number((steps * STEP).toFixed(2));
  stage.style.setProperty('--cp-zoom', String(Number((zoom * scale).toFixed(4))));
  return zoom;
}
