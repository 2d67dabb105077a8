/** Many at once: of several pollers one claims, of several callbacks one counts. `protocol.md` §3, design.md. */

import type { Case, Group } from '../engine/case.ts';
import { equal } from '../engine/expect.ts';
import { sleep, times } from '../engine/wait.ts';
import { after, json } from '../provider/replies.ts';
import { makeTokens, tokenResponse } from '../provider/tokens.ts';
import {
  expectDeadLink,
  expectErrorPage,
  expectJson,
  expectSuccessPage,
  expectText,
} from '../wire/answers.ts';
import type { Answer } from '../wire/http.ts';
import { CANCELLED, SESSION_NOT_FOUND } from '../wire/messages.ts';
import { expectResult, signIn } from '../wire/sign-in.ts';

const ROUNDS = 5;
const POLLERS = 20;
const CALLBACKS = 50;

/** One answer has the result, every other says the session is not found. */
function expectOneWinner(answers: readonly Answer[], fields: Readonly<Record<string, unknown>>) {
  const winners = answers.filter(({ status }) => status === 200);
  equal('polls answered 200', winners.length, 1);
  for (const answer of answers) {
    if (answer.status === 200) expectJson(answer, fields);
    else expectText(answer, 410, SESSION_NOT_FOUND);
  }
}

const waitingPollers: Case = {
  section: '3 rule 4, 4',
  rule: 'of 20 waiting polls exactly one gets the tokens, the others 410',
  covers: ['3.rule-4', '4.result-race', '7.session-not-found'],
  async run({ target, provider, options }) {
    for (const _ of times(ROUNDS, Number)) {
      const session = await target.start(options.serviceA);
      const polls = times(POLLERS, () => target.park(session.secret).answer);
      await sleep(200);
      const { code, result } = provider.grant();
      expectSuccessPage(await target.callback(session, { code }));
      expectOneWinner(await Promise.all(polls), { ...result });
    }
  },
};

const rushingPollers: Case = {
  section: '3 rule 2, 4',
  rule: 'of 20 polls at once on a completed session exactly one gets the tokens, the others 410',
  covers: ['3.rule-2', '4.result-race', '4.result-unknown'],
  async run(bench) {
    for (const _ of times(ROUNDS, Number)) {
      const { session, result } = await signIn(bench, bench.options.serviceB);
      const polls = times(POLLERS, () => bench.target.poll(session.secret));
      expectOneWinner(await Promise.all(polls), { ...result });
    }
  },
};

const parallelCallbacks: Case = {
  section: '3 rule 1, design.md',
  rule: '50 callbacks at once with one code: one success page, 49 404 pages, one exchange',
  covers: ['3.rule-1', '4.callback-late'],
  async run(bench) {
    const { target, provider, options } = bench;
    const session = await target.start(options.serviceA);
    const result = makeTokens();
    const code = provider.plan(after(300, json(tokenResponse(result))));
    const pages = await Promise.all(times(CALLBACKS, () => target.callback(session, { code })));
    const winners = pages.filter(({ status }) => status === 200);
    equal('success pages', winners.length, 1);
    for (const page of pages) {
      if (page.status === 200) expectSuccessPage(page);
      else expectDeadLink(page);
    }
    equal('requests at the provider', provider.requests(code).length, 1);
    await expectResult(bench, session, { ...result });
  },
};

const mixedCallbacks: Case = {
  section: '3 rule 1',
  rule: 'callbacks of every kind at once: one takes the session, and the device gets its result',
  covers: ['3.rule-1', '4.callback-late'],
  async run(bench) {
    const { target, provider, options } = bench;
    for (const _ of times(ROUNDS, Number)) {
      const session = await target.start(options.serviceB);
      const { code, result } = provider.grant();
      const kinds = [
        { parameters: { error: 'access_denied' }, device: { error: 'access_denied' } },
        { parameters: { error: 'x' }, device: { error: 'authorization_failed' } },
        { parameters: {}, device: { error: 'missing_code' } },
        { parameters: { code }, device: { ...result } },
      ];
      const answers = await Promise.all(
        times(12, (index) => target.callback(session, kinds[index % 4]?.parameters ?? {})),
      );
      const taken = answers.flatMap((answer, index) => (answer.status === 404 ? [] : [index % 4]));
      equal('callbacks that took the session', taken.length, 1);
      for (const answer of answers.filter(({ status }) => status === 404)) expectDeadLink(answer);
      await expectResult(bench, session, kinds[taken[0] ?? 0]?.device ?? {});
    }
  },
};

const duringExchange: Case = {
  section: '3 rule 1',
  rule: 'a cancellation during an exchange: one of the two callbacks counts, for page and device alike',
  covers: ['3.rule-1', '4.callback-late'],
  async run(bench) {
    const { target, provider, options } = bench;
    const session = await target.start(options.serviceA);
    const result = makeTokens();
    const code = provider.plan(after(1_000, json(tokenResponse(result))));
    const exchanging = target.callback(session, { code });
    await sleep(300);
    const cancelled = await target.callback(session, { error: 'access_denied' });
    const exchanged = await exchanging;
    if (exchanged.status === 200) {
      expectSuccessPage(exchanged);
      expectDeadLink(cancelled);
      await expectResult(bench, session, { ...result });
    } else {
      expectDeadLink(exchanged);
      expectErrorPage(cancelled, 200, CANCELLED);
      await expectResult(bench, session, { error: 'access_denied' });
    }
  },
};

export const races: Group = {
  name: 'races',
  about: 'many at once: one claims, one counts',
  cases: [waitingPollers, rushingPollers, parallelCallbacks, mixedCallbacks, duringExchange],
};
