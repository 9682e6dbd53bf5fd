// The page's own background decides between light and dark, and is followed while it changes.

const NAMES = ["ink", "muted", "faint", "query", "key", "value", "low", "zero", "high", "clear", "deep"];
const LEVELS = 1000; // of a scale from 0 to 1, more than a screen has

/** Call `changed(theme)` now and whenever the page's background changes; returns what ends it. */
export function followTheme(root, changed) {
  let last = "";
  const look = () => {
    if (!root.isConnected) return; // a lab may show it later; until then nothing has a colour
    const background = backgroundOf(root);
    if (background.join() === last) return;
    last = background.join();
    root.dataset.theme = luminance(background) < 0.4 ? "dark" : "light";
    root.style.setProperty("--ce-page", `rgb(${background})`);
    changed(read(root, background));
  };
  const later = () => requestAnimationFrame(look);
  const watch = new MutationObserver(later);
  for (const element of [document.documentElement, document.body]) {
    watch.observe(element, { attributes: true });
  }
  const placed = new ResizeObserver(look);
  placed.observe(root);
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", later);
  // A page may fade from one theme into the other.
  document.addEventListener("transitionend", later);
  look();
  return () => {
    watch.disconnect();
    placed.disconnect();
    system.removeEventListener("change", later);
    document.removeEventListener("transitionend", later);
  };
}

/** Call `changed()` when the page comes to have more or fewer pixels; returns what ends it. */
export function followSharpness(changed) {
  let query;
  const again = () => {
    query?.removeEventListener("change", again);
    if (query) changed();
    query = matchMedia(`(resolution: ${window.devicePixelRatio || 1}dppx)`);
    query.addEventListener("change", again);
  };
  again();
  return () => query.removeEventListener("change", again);
}

function backgroundOf(root) {
  for (let node = root.parentElement; node; node = node.parentElement) {
    const [red, green, blue, alpha = 1] = numbers(getComputedStyle(node).backgroundColor);
    if (alpha > 0.5) return [red, green, blue];
  }
  return getComputedStyle(document.documentElement).colorScheme === "dark"
    ? [18, 18, 18]
    : [255, 255, 255];
}

const numbers = colour => (colour.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
const luminance = ([red, green, blue]) => (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;

/** The colours for what is drawn on a canvas or filled by value. */
function read(root, background) {
  const style = getComputedStyle(root);
  const colours = Object.fromEntries(
    NAMES.map(name => [name, style.getPropertyValue(`--ce-${name}`).trim()]),
  );
  const [low, high, clear, deep] =
    [colours.low, colours.high, colours.clear, colours.deep].map(fromHex);
  return {
    ...colours,
    dark: root.dataset.theme === "dark",
    // Straight to a deep blue would be grey half way.
    weight: kept(share =>
      share < 0.5 ? mixed(background, clear, 2 * share) : mixed(clear, deep, 2 * share - 1)),
    signed: kept(share => mixed(background, share < 0 ? low : high, 0.75 * Math.abs(share))),
  };
}

/** Black or white: whichever is the easier to read on a colour, and never below 4.5 to 1. */
export function readableOn(colour) {
  const [red, green, blue] = numbers(colour).map(each => (each / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#000" : "#fff";
}

/** A scale that remembers its colours: a picture may ask it thousands of times. */
function kept(scale) {
  const known = new Map();
  return share => {
    const level = Math.round(share * LEVELS);
    if (!known.has(level)) known.set(level, scale(level / LEVELS));
    return known.get(level);
  };
}

const fromHex = hex => [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));

function mixed(from, to, share) {
  const much = Math.min(Math.max(share, 0), 1);
  return `rgb(${from.map((each, i) => Math.round(each + (to[i] - each) * much))})`;
}
