// A torus in space: where its points are on the screen, and how it is painted.

const THICKEST = 0.62; // of the tube, where the ring has radius 1
const AROUND = { ring: 36, tube: 14 };
const BETWEEN = 4; // pieces of the path from one position to the next
const PHASE = Math.PI; // of the tube, so that the first positions are outside

/** What turns two angles into a place: [x, y, depth, how much it faces the eye]. */
export function camera({ turn, tilt }, tube, width, height) {
  const r = THICKEST * tube;
  const scale = Math.min(width, height * 1.12) / 2 / (1 + THICKEST) - 2;
  const [ct, st] = [Math.cos(turn), Math.sin(turn)];
  const [ce, se] = [Math.cos(tilt), Math.sin(tilt)];
  return (fast, slow, off = 0) => {
    const [ca, sa] = [Math.cos(fast + PHASE), Math.sin(fast + PHASE)];
    const [cb, sb] = [Math.cos(slow), Math.sin(slow)];
    const far = 1 + (r + off) * ca;
    const [x, y, z] = [far * cb, far * sb, (r + off) * sa];
    const [right, away] = [x * ct - y * st, x * st + y * ct];
    const normal = ca * (cb * st + sb * ct);
    return [
      width / 2 + scale * right,
      height / 2 - 8 - scale * (away * se + z * ce),
      z * se - away * ce,
      sa * se - normal * ce,
    ];
  };
}

/** Paint the torus and the path, what is further away first. */
export function paint(canvas, place, state, theme, width, height) {
  const sharp = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * sharp);
  canvas.height = Math.round(height * sharp);
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const context = canvas.getContext("2d");
  context.scale(sharp, sharp);
  context.lineCap = "round";
  const pieces = [
    ...surface(context, place, theme),
    ...path(context, place, state, theme),
  ];
  pieces.sort((one, other) => one.depth - other.depth);
  pieces.forEach(each => each.draw());
  context.globalAlpha = 1;
}

function surface(context, place, theme) {
  const [ring, tube] = [(2 * Math.PI) / AROUND.ring, (2 * Math.PI) / AROUND.tube];
  const pieces = [];
  const corners = [...Array(AROUND.ring).keys()].map(i =>
    [...Array(AROUND.tube).keys()].map(j => place(j * tube, i * ring)));
  for (let i = 0; i < AROUND.ring; i += 1) {
    const next = corners[(i + 1) % AROUND.ring];
    for (let j = 0; j < AROUND.tube; j += 1) {
      const k = (j + 1) % AROUND.tube;
      const quad = [corners[i][j], next[j], next[k], corners[i][k]];
      const depth = (quad[0][2] + quad[1][2] + quad[2][2] + quad[3][2]) / 4;
      const facing = (quad[0][3] + quad[2][3]) / 2;
      pieces.push({ depth, draw() {
        context.globalAlpha = facing > 0 ? 0.3 + 0.62 * (1 - facing) ** 1.6 : 0.25;
        context.fillStyle = context.strokeStyle = theme.faint;
        context.lineWidth = 0.6;
        context.beginPath();
        quad.forEach(([x, y]) => context.lineTo(x, y));
        context.closePath();
        context.fill();
      } });
    }
  }
  return pieces;
}

function path(context, place, { fast_angles: fast, slow_angles: slow }, theme) {
  const pieces = [];
  const at = (all, i) => {
    const low = Math.min(Math.floor(i), all.length - 2);
    return all[low] + (i - low) * (all[low + 1] - all[low]);
  };
  const count = (fast.length - 1) * BETWEEN;
  let before = place(fast[0], slow[0], 0.02);
  for (let i = 1; i <= count; i += 1) {
    const from = before;
    const to = place(at(fast, i / BETWEEN), at(slow, i / BETWEEN), 0.02);
    before = to;
    pieces.push({ depth: (from[2] + to[2]) / 2 + 0.02, draw() {
      context.globalAlpha = to[3] > 0 ? 0.9 : 0.4;
      context.strokeStyle = theme.muted;
      context.lineWidth = 1.4;
      context.beginPath();
      context.moveTo(from[0], from[1]);
      context.lineTo(to[0], to[1]);
      context.stroke();
    } });
  }
  return pieces;
}
