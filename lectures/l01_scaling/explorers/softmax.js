/** The weights of scores; the largest score is taken from all, so that no power overflows. */
export function softmax(scores) {
  const most = Math.max(...scores);
  const grown = scores.map(each => Math.exp(each - most));
  const sum = grown.reduce((one, other) => one + other, 0);
  return grown.map(each => each / sum);
}
