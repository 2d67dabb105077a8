/** A client that has no start left. */

import type { Bench } from '../engine/case.ts';
import { Mismatch } from '../engine/expect.ts';
import { expectStatus } from './answers.ts';
import type { Answer } from './http.ts';
import type { Source } from './sources.ts';

/** Far more than a burst, even if some trickle in meanwhile. */
const TRIES = 12;

/** Spends what a client has; with the answer that refused it. */
export async function exhaust(bench: Bench): Promise<{ from: Source; answer: Answer }> {
  const { target, options } = bench;
  const from = await target.sources.fresh();
  const body = JSON.stringify({ service: options.serviceA });
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answer = await target.post(body, from);
    if (answer.status === 429) return { from, answer };
    expectStatus(answer, 200);
  }
  throw new Mismatch(
    `${TRIES} starts in a row from one address`,
    'a 429 among them',
    '200 each time',
  );
}
