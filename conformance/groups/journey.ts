/** The whole sign-in, as a device and a browser do it: `protocol.md` §1. */

import type { Bench, Case, Group } from '../engine/case.ts';
import { equal, holds } from '../engine/expect.ts';
import { sleep } from '../engine/wait.ts';
import { expectJson, expectSuccessPage, readLocation } from '../wire/answers.ts';
import { type Answer, send } from '../wire/http.ts';

/** The path below the public address, to be asked of the one we can reach. */
function pathBelow(publicUrl: string, subject: string, url: string): string {
  const below = url.startsWith(`${publicUrl}/`) && /^[!-~]+$/.test(url);
  holds(subject, below, `a URL below ${publicUrl}`, url);
  return url.slice(publicUrl.length);
}

/** Opens the link, says yes at the provider, and comes back. */
async function browse({ target, options }: Bench, url: string, code: string): Promise<Answer> {
  const link = pathBelow(options.publicUrl, 'url', url);
  const opened = await target.send({ path: link });
  const consent = readLocation(opened);
  const said = await send(consent.origin, {
    path: `${consent.pathname}${consent.search}&planned=${code}`,
  });
  const back = pathBelow(options.publicUrl, 'redirect_uri', readLocation(said).href);
  return await target.send({ path: back });
}

function wholeSignIn(letter: 'A' | 'B'): Case {
  return {
    section: '1, 3',
    rule: `provider ${letter}: start, link, provider, callback; the waiting device gets the tokens`,
    covers: ['1.flow', '1.providers', '3.exchange-succeeded', '3.rule-4', '4.result-tokens'],
    async run(bench) {
      const { target, provider, options } = bench;
      const session = await target.start(letter === 'A' ? options.serviceA : options.serviceB);
      const waiting = target.park(session.secret);
      const { code, result } = provider.grant();
      expectSuccessPage(await browse(bench, session.url, code));
      expectJson(await waiting.answer, { ...result });
      equal('exchanges', provider.requests(code).length, 1);
    },
  };
}

const promptness: Case = {
  section: '3 rule 4',
  rule: 'a parked poll is answered within 2 seconds of the completion',
  covers: ['3.rule-4'],
  async run({ target, provider, options }) {
    const session = await target.start(options.serviceA);
    const waiting = target.park(session.secret);
    await sleep(500);
    const { code, result } = provider.grant();
    expectSuccessPage(await target.callback(session, { code }));
    const completedAt = performance.now();
    expectJson(await waiting.answer, { ...result });
    const late = performance.now() - completedAt;
    holds('wake-up', late < 2000, 'within 2 s of the success page', `${Math.round(late)} ms`);
  },
};

const noCredentials: Case = {
  section: '5',
  rule: 'no credential header is asked for or looked at',
  covers: ['5.no-credentials'],
  async run({ target, provider, options }) {
    const session = await target.start(options.serviceA);
    const { code, result } = provider.grant();
    const headers = { Authorization: 'Bearer rubbish', Cookie: 'session=rubbish' };
    const query = new URLSearchParams({ code, state: session.state });
    const path = `/auth/${session.service}/callback?${query}`;
    expectSuccessPage(await target.send({ path, headers }));
    const poll = await target.send({ path: `/auth/result?session=${session.secret}`, headers });
    expectJson(poll, { ...result });
    target.ledger.remove(session.secret);
  },
};

export const journey: Group = {
  name: 'journey',
  about: 'the whole sign-in, §1',
  cases: [wholeSignIn('A'), wholeSignIn('B'), promptness, noCredentials],
};
