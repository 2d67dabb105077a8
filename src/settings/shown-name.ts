import { z } from 'zod';
import { SHOWN_NAME_CHARACTERS } from '../limits.ts';
import { cleanName, hasUnseen } from '../pages/shown-name.ts';

const UNSEEN = 'must hold no character that cannot be seen or that turns the text around it';
const PROBLEM = `must be 1 to ${SHOWN_NAME_CHARACTERS} characters that can be seen`;

/** A name that users are shown. A device's is cleaned; the operator can be told what is wrong. */
export const shownName = z
  .string()
  .trim()
  .refine((name) => !hasUnseen(name), { message: UNSEEN, abort: true })
  .refine((name) => cleanName(name) === name.replace(/\s+/g, ' '), PROBLEM);
