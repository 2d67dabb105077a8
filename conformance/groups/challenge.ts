/** Blind sign-ins: a device that keeps the verifier and exchanges the code itself (docs/extensions.md, RFC 7636). */

import * as expect from '../answers.ts';
import { expectRequests, expectResult, makeChallenge, pollGrant } from '../device.ts';
import { equal, present } from '../expect.ts';
import { registrationAt, SERVICE_A, SERVICE_B, SERVICE_S256 } from '../options.ts';
import { cases, type Kit } from '../runner.ts';
import { listServices } from './services.ts';

async function startBlind({ relay }: Kit) {
  const challenge = makeChallenge();
  const session = await relay.start({ service: SERVICE_S256, challenge });
  return { session, challenge };
}

export const challenge = cases((test) => {
  test('docs/extensions.md "Services"; docs/extensions.md "Blind sign-ins"; RFC 7636 §4.3: a service says that it takes a challenge; the link has that of the device', async (kit) => {
    const listed = await listServices(kit);
    const found = listed.find(({ service }) => service === SERVICE_S256);
    equal('blind', present('the service with S256', found).blind, 'can');
    const { session, challenge: sent } = await startBlind(kit);
    const { searchParams } = expect.location(await kit.relay.open(session));
    equal('code_challenge', searchParams.get('code_challenge'), sent);
    equal('code_challenge_method', searchParams.get('code_challenge_method'), 'S256');
    if (!kit.options.extensions.has('device-grant')) return;
    // Its token endpoint has no response for a code.
    await kit.relay.callback(session, { code: kit.provider.issueCode().code });
    expect.oauthError(await pollGrant(kit, session), 'invalid_grant');
  });

  test('docs/extensions.md "Blind sign-ins": the result is the code with what the exchange needs, once; no relay exchanges it', async (kit) => {
    const { relay, provider, options } = kit;
    const { session } = await startBlind(kit);
    const { code } = provider.issueCode();
    expect.successPage(await relay.callback(session, { code }));
    const { clientId, tokenUrl } = registrationAt(options, SERVICE_S256);
    const redirectUri = `${options.baseUrl}/auth/${SERVICE_S256}/callback`;
    await expectResult(kit, session, { code, tokenUrl, clientId, redirectUri });
    expect.sessionNotFound(await relay.poll(session));
    expectRequests(kit, code, 0);
  });

  test('docs/extensions.md "Blind sign-ins": a malformed challenge is refused and never ignored: 400 Invalid challenge', async (kit) => {
    const good = makeChallenge();
    const short = good.slice(1);
    // Its last character has four bits of the digest and two that are 0.
    const tooManyBits = `${good.slice(0, -1)}N`;
    const texts = [short, `${good}A`, '', `+${short}`, `${good}=`, `${good}\n`, tooManyBits];
    for (const wrong of [...texts, 1, true, null, [good]]) {
      for (const service of [SERVICE_S256, SERVICE_A]) {
        const refused = await kit.relay.postStart({ service, challenge: wrong });
        expect.text(refused, 400, 'Invalid challenge');
      }
    }
  });

  test('docs/extensions.md "Blind sign-ins": a provider with a client secret, or without S256: 400 Challenge not supported', async (kit) => {
    for (const service of [SERVICE_B, SERVICE_A]) {
      const refused = await kit.relay.postStart({ service, challenge: makeChallenge() });
      expect.text(refused, 400, 'Challenge not supported');
    }
  });
});
