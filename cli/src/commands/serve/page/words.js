// Numbers and times in words.

export const count = (number) => number.toLocaleString("en");

export const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

/** Formats a length of time, rounded. */
export function span(seconds) {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  return seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

export const ago = (seconds) => `${span(seconds)} ago`;

/** Formats a measured duration. */
export function duration(seconds) {
  return seconds < 1 ? `${Math.round(1000 * seconds)} ms` : `${seconds.toFixed(1)} s`;
}
