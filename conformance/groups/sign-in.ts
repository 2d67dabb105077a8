/** A whole sign-in, and what each of its two secrets gives access to. */

import * as expect from '../answers.ts';
import { expectRequests, expectResult, signIn } from '../device.ts';
import { holds } from '../expect.ts';
import { type Answer, send } from '../http.ts';
import { SERVICE_A, SERVICE_B } from '../options.ts';
import { callbackPath } from '../relay.ts';
import { cases, type Kit } from '../runner.ts';
import { slowSecondsSince } from '../slowness.ts';

/** The path below the public URL, to be requested at the base URL. */
function pathBelow(baseUrl: string, subject: string, url: string): string {
  const isBelow = url.startsWith(`${baseUrl}/`) && /^[!-~]+$/.test(url);
  holds(subject, isBelow, `a URL below ${baseUrl}`, url);
  return url.slice(baseUrl.length);
}

/** Opens the link, agrees at the provider, and comes back. */
async function browse({ relay, options }: Kit, url: string, code: string): Promise<Answer> {
  const opened = await relay.send({ path: pathBelow(options.baseUrl, 'url', url) });
  const { origin, pathname, search } = expect.location(opened);
  const agreed = await send(origin, { path: `${pathname}${search}&chosen_code=${code}` });
  const back = pathBelow(options.baseUrl, 'redirect_uri', expect.location(agreed).href);
  return await relay.send({ path: back });
}

export const journey = cases((test) => {
  for (const service of [SERVICE_A, SERVICE_B]) {
    test(`Overview: ${service}: start, link, callback; the waiting device gets tokens within 2 seconds`, async (kit) => {
      const { relay, provider } = kit;
      const session = await relay.start({ service });
      const parked = await relay.park(session);
      const { code, tokens } = provider.issueCode();
      expect.successPage(await browse(kit, session.url, code));
      const completedAt = performance.now();
      expect.json(await parked.answer, tokens);
      const late = (performance.now() - completedAt) / 1000;
      const most = 2 + slowSecondsSince(completedAt);
      holds('delay', late < most, `less than ${most.toFixed(1)} s after the success page`, late);
      expectRequests(kit, code, 1);
    });
  }

  test('Overview: no credentials are asked for, and credential headers are ignored', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start();
    const { code, tokens } = provider.issueCode();
    const headers = { Authorization: 'Bearer rubbish', Cookie: 'session=rubbish' };
    expect.successPage(await relay.send({ path: callbackPath(session, { code }), headers }));
    expect.json(await relay.poll(session, {}, { headers }), tokens);
  });
});

export const capabilities = cases((test) => {
  test('Overview: the browser state does not give access to the result', async (kit) => {
    const { session, tokens } = await signIn(kit);
    const withState = { ...session, pollSecret: session.state };
    expect.sessionNotFound(await kit.relay.poll(withState));
    expect.sessionNotFound(await kit.relay.poll(withState, { state: session.state }));
    await expectResult(kit, session, tokens);
  });

  test('Overview: the poll secret does not work as browser state; no page or redirect has it', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start();
    const withSecret = { ...session, state: session.pollSecret };
    const { code } = provider.issueCode();
    expect.invalidLink(await relay.open(withSecret));
    expect.invalidLink(await relay.callback(withSecret, { code }));
    expectRequests(kit, code, 0);
    const seen = [await relay.open(session), await relay.callback(session, { code })];
    const isShown = JSON.stringify([seen, session.url]).includes(session.pollSecret);
    holds('what the browser sees', !isShown, 'nothing of the poll secret', 'the poll secret');
  });
});
