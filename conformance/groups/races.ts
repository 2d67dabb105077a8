/** Many requests at once: one poll claims the result, one callback takes the session. */

import * as expect from '../answers.ts';
import { times } from '../async.ts';
import { expectRequests, expectResult, signIn } from '../device.ts';
import { equal } from '../expect.ts';
import type { Answer } from '../http.ts';
import { after, json, type Tokens, tokenResponse } from '../mock-provider.ts';
import { SERVICE_B } from '../options.ts';
import { cases } from '../runner.ts';

const ROUNDS = times(5, Number);
const POLLS = 20;
/** How many polls may wait for one session: docs/protocol.md §8. */
const PARKED_POLLS = 4;
const CALLBACKS = 50;

/** One poll has the tokens; all others get a 410. */
function expectOneDelivery(answers: readonly Answer[], tokens: Tokens): void {
  equal('polls answered 200', answers.filter(({ status }) => status === 200).length, 1);
  for (const answer of answers) {
    if (answer.status === 200) expect.json(answer, tokens);
    else expect.sessionNotFound(answer);
  }
}

export const races = cases((test) => {
  test('Waiting for the result: of 4 parked polls, or 20 at once, exactly one gets the tokens, the others 410', async (kit) => {
    const { relay, provider } = kit;
    for (const _ of ROUNDS) {
      const session = await relay.start();
      const parked = await Promise.all(times(PARKED_POLLS, () => relay.park(session)));
      const { code, tokens } = provider.issueCode();
      expect.successPage(await relay.callback(session, { code }));
      expectOneDelivery(await Promise.all(parked.map(({ answer }) => answer)), tokens);
      const completed = await signIn(kit, SERVICE_B);
      const polls = times(POLLS, () => relay.poll(completed.session));
      expectOneDelivery(await Promise.all(polls), completed.tokens);
    }
  });

  test('What the browser does: 50 callbacks at once with one code: one success page, 49 404 pages, one exchange', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start();
    const tokens = provider.makeTokens();
    const code = provider.issue(after(300, json(tokenResponse(tokens))));
    const pages = await Promise.all(times(CALLBACKS, () => relay.callback(session, { code })));
    equal('success pages', pages.filter(({ status }) => status === 200).length, 1);
    for (const page of pages) {
      if (page.status === 200) expect.successPage(page);
      else expect.invalidLink(page);
    }
    expectRequests(kit, code, 1);
    await expectResult(kit, session, tokens);
  });
});
