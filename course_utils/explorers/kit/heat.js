// A matrix as coloured squares on a canvas, a pixel of the screen for each of the canvas.

/** A heat map in a box: `draw(values, rows, columns, width, height, colour)`. */
export function heatMap(stage, label) {
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  stage.append(canvas);
  const context = canvas.getContext("2d");
  return {
    canvas,
    draw(values, rows, columns, width, height, colour) {
      const sharp = window.devicePixelRatio || 1;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      canvas.width = Math.round(width * sharp);
      canvas.height = Math.round(height * sharp);
      for (let row = 0; row < rows; row += 1) {
        const top = Math.round((row * canvas.height) / rows);
        const bottom = Math.round(((row + 1) * canvas.height) / rows);
        for (let column = 0; column < columns; column += 1) {
          const left = Math.round((column * canvas.width) / columns);
          const right = Math.round(((column + 1) * canvas.width) / columns);
          context.fillStyle = colour(values[row * columns + column]);
          context.fillRect(left, top, right - left, bottom - top);
        }
      }
    },
  };
}
