/** Poll secret and browser state: each opens its own door only. `protocol.md` §5. */

import type { Case, Group } from '../engine/case.ts';
import { equal, holds } from '../engine/expect.ts';
import { expectDeadLink, expectText } from '../wire/answers.ts';
import { SESSION_NOT_FOUND } from '../wire/messages.ts';
import { expectResult, signIn } from '../wire/sign-in.ts';

const stateIsNoSecret: Case = {
  section: '5',
  rule: 'the browser state does not open the result',
  covers: ['5.capabilities', '4.result-unknown'],
  async run(bench) {
    const { target } = bench;
    const { session, result } = await signIn(bench, bench.options.serviceA);
    expectText(await target.poll(session.state), 410, SESSION_NOT_FOUND);
    const query = new URLSearchParams({ session: session.state, state: session.state });
    expectText(await target.send({ path: `/auth/result?${query}` }), 410, SESSION_NOT_FOUND);
    await expectResult(bench, session, { ...result });
  },
};

const secretIsNoState: Case = {
  section: '5',
  rule: 'the poll secret opens neither the link nor the callback, and is on no page and in no redirect',
  covers: ['5.capabilities'],
  async run({ target, provider, options }) {
    const session = await target.start(options.serviceA);
    const swapped = { ...session, state: session.secret };
    const { code } = provider.grant();
    expectDeadLink(await target.open(swapped));
    expectDeadLink(await target.callback(swapped, { code }));
    equal('exchanges', provider.requests(code).length, 0);
    const seen = [await target.open(session), await target.callback(session, { code })];
    const shown = JSON.stringify([seen, session.url]).includes(session.secret);
    holds('what the browser sees', !shown, 'nothing of the poll secret', 'the poll secret');
  },
};

export const capabilities: Group = {
  name: 'capabilities',
  about: 'poll secret and browser state each open their own door only',
  cases: [stateIsNoSecret, secretIsNoState],
};
