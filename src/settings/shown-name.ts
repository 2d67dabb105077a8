import { z } from 'zod';

/** A name that people are shown: a line of a page on a phone holds no more. */
const MAX_CHARACTERS = 40;

const PROBLEM = `must be 1 to ${MAX_CHARACTERS} characters without line breaks or other control characters`;

export const shownName = z
  .string()
  .trim()
  // Characters as people count them, near enough: not the halves that `length` counts.
  .refine((name) => [...name].length <= MAX_CHARACTERS && !/\p{Cc}/u.test(name), PROBLEM);
