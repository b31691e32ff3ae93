/**
 * Which rows of a long list are in view. Pure.
 *
 * Browsers cut elements off at about 33 million pixels, so a list that would be taller is drawn on a
 * scaled track: the scrollbar then moves over more rows for each pixel, and nothing is out of reach.
 */
export const MAX_TRACK = 30_000_000;

export interface RowWindow {
  /** The first row in view, and how many there are from it on. */
  first: number;
  count: number;
  /** Where the first row is drawn on the track. */
  offset: number;
  /** How tall the track is. */
  track: number;
}

/** Give the rows that are in view. */
export function windowOf(scroll: number, view: number, total: number, row: number, spare = 6): RowWindow {
  const whole = total * row;
  const track = Math.min(whole, MAX_TRACK);
  const top = topRow(scroll, view, total, row);
  const first = Math.max(0, Math.floor(top) - spare);
  const last = Math.min(total, Math.ceil(top + view / row) + spare);
  return { first, count: Math.max(0, last - first), offset: scroll - (top - first) * row, track };
}

function topRow(scroll: number, view: number, total: number, row: number): number {
  const whole = total * row;
  const reach = Math.min(whole, MAX_TRACK) - view;
  if (reach <= 0) return 0;
  const share = Math.min(1, Math.max(0, scroll / reach));
  return (share * (whole - view)) / row;
}

/** Give where to scroll so that a row is in view; the same place where it is already. */
export function scrollTo(index: number, scroll: number, view: number, total: number, row: number): number {
  const whole = total * row;
  const track = Math.min(whole, MAX_TRACK);
  const top = topRow(scroll, view, total, row);
  let wanted = top;
  if (index < top) wanted = index;
  if (index + 1 > top + view / row) wanted = index + 1 - view / row;
  if (wanted === top || whole <= view) return scroll;
  return ((wanted * row) / (whole - view)) * (track - view);
}

/** Give the numbers (from 1) of the pages that hold these rows. */
export function pagesOf(first: number, count: number, size: number): number[] {
  if (count <= 0) return [1];
  const from = Math.floor(first / size);
  const to = Math.floor((first + count - 1) / size);
  return Array.from({ length: to - from + 1 }, (_, index) => from + index + 1);
}
