// What moves by itself at a step: after it, the picture is the one that was drawn.

const FLIGHT = { duration: 420, easing: "ease-in-out" };

/** Tiles fly in; then the scores appear; then the sums change; at last the output flies out. */
export function animate({ memory, chip, beam, old }, state) {
  const [there, here] = [memory.places(state), chip.places()];
  const arriving = state.starts ? ["q", "k", "v"] : ["k", "v"];
  arriving.forEach(name => fly(chip.sheets[name].group, there[name], here[name]));
  [beam, memory.inside, chip.sheets.scores.group].forEach(each => appear(each, FLIGHT.duration));
  chip.sums.forEach(each => appear(each, 2 * FLIGHT.duration));
  // The sums stay on the chip until the new ones are there.
  if (!state.starts) {
    chip.group.prepend(...old);
    old.forEach(each => passing(each, [{}, {}], { duration: 2 * FLIGHT.duration }));
  }
  if (!state.ends) return;
  const result = chip.sheets.acc.group.cloneNode(true);
  chip.group.append(result);
  passing(result, [at(whole(here.acc)), at(shrunk(there.out, here.acc))],
    { ...FLIGHT, delay: 2.7 * FLIGHT.duration });
  memory.written(state).forEach(each => appear(each, 3.7 * FLIGHT.duration));
}

/** Something that is there only while it moves. */
function passing(element, frames, timing) {
  element.style.opacity = 0;
  const gone = () => element.remove();
  element.animate(frames.map(each => ({ opacity: 1, ...each })), timing).finished.then(gone, gone);
}

/** A group comes from where `from` is. */
const fly = (group, from, to) => group.animate([at(shrunk(from, to)), at(whole(to))], FLIGHT);

/** The place that gives a group which fills `full` the size of `small`. */
const shrunk = (small, full) =>
  ({ ...small, width: small.width / full.width, height: small.height / full.height });
const whole = ({ x, y }) => ({ x, y, width: 1, height: 1 });

const at = ({ x, y, width, height }) =>
  ({ transform: `translate(${x}px, ${y}px) scale(${width}, ${height})` });

const appear = (element, delay) =>
  element.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 200, delay, fill: "backwards" });
