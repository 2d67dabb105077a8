/** `GET /services`: which providers the relay offers, and which extensions (docs/extensions.md). */

import * as expect from '../answers.ts';
import { expectResult, postJson } from '../device.ts';
import { equal, holds, present } from '../expect.ts';
import { json } from '../mock-provider.ts';
import { SERVICE_A, SERVICE_B } from '../options.ts';
import { cases, type Kit } from '../runner.ts';

interface Service {
  readonly service: string;
  readonly name: string;
  readonly blind: string;
  readonly revoke?: boolean;
}

export async function listServices({ relay }: Kit): Promise<readonly Service[]> {
  const answer = await relay.send({ path: '/services' });
  expect.noStore(answer);
  const { services } = expect.json(answer);
  holds('services', Array.isArray(services), 'a list', services);
  return services as readonly Service[];
}

export const services = cases((test) => {
  test('docs/extensions.md "Services": each service has a name and says if it takes a challenge; extensions are named', async (kit) => {
    const listed = await listServices(kit);
    for (const name of [SERVICE_A, SERVICE_B]) {
      const found = present(
        name,
        listed.find(({ service }) => service === name),
      );
      // `revoke` is there if the relay has that extension.
      const members = Object.keys(found).filter((member) => member !== 'revoke');
      equal('members', members.sort(), ['blind', 'name', 'service']);
      holds('name', typeof found.name === 'string' && found.name !== '', 'a text', found.name);
      const possible = name === SERVICE_B ? ['no'] : ['no', 'can', 'must'];
      holds('blind', possible.includes(found.blind), possible.join(' or '), found.blind);
    }
    const { extensions } = expect.json(await kit.relay.send({ path: '/services' }));
    const isList =
      Array.isArray(extensions) && extensions.every((each) => typeof each === 'string');
    holds('extensions', isList, 'a list of names', extensions);
  });
});

export const details = cases((test) => {
  test('docs/extensions.md "Details": only with "details": true the result has tokenType, scope and idToken', async (kit) => {
    const { relay, provider } = kit;
    for (const asked of [true, 'true', undefined]) {
      const tokens = provider.makeOAuthTokens();
      const usual = {
        accessToken: tokens.access_token,
        refreshToken: tokens.refresh_token,
        expiresIn: tokens.expires_in,
      };
      const more = { tokenType: tokens.token_type, scope: tokens.scope, idToken: tokens.id_token };
      const session = await relay.start({ details: asked });
      expect.successPage(await relay.callback(session, { code: provider.issue(json(tokens)) }));
      await expectResult(kit, session, asked === true ? { ...usual, ...more } : usual);
    }
    const { accessToken } = provider.makeTokens();
    const session = await relay.start({ details: true });
    await relay.callback(session, { code: provider.issue(json({ access_token: accessToken })) });
    await expectResult(kit, session, { accessToken });
  });

  test('docs/extensions.md "Refreshing"; docs/extensions.md "Details": a refresh gives them too', async (kit) => {
    const { access_token, token_type, scope, id_token } = kit.provider.makeOAuthTokens();
    const reply = json({ access_token, token_type, scope, id_token });
    const asked = { service: SERVICE_A, refreshToken: kit.provider.issue(reply), details: true };
    const more = { tokenType: token_type, scope, idToken: id_token };
    expect.json(await postJson(kit, '/refresh', asked), { accessToken: access_token, ...more });
  });
});
