/** A client whose address cannot be told: `protocol.md` §4, §7. */

import type { Bench, Case, Group } from '../engine/case.ts';
import { Skip } from '../engine/expect.ts';
import { expectNoStore, expectNotAllowed, expectText } from '../wire/answers.ts';
import type { Source } from '../wire/sources.ts';

/** A hop of which no address can be made: how addresses are derived is left open, that this has none is not. */
function untellable({ options }: Bench): Source {
  const forwardedFor = 'not-an-address';
  if (options.spread === 'forwarded') return { forwardedFor };
  if (options.proxyAddress === undefined) {
    throw new Skip('needs --spread forwarded, or a --proxy-address the target trusts as a proxy');
  }
  return { localAddress: options.proxyAddress, forwardedFor };
}

const untold: Case = {
  section: '4, 7',
  rule: 'a client address that cannot be determined: 400 Invalid client address',
  covers: ['4.start-check-2', '7.client-address', '4.start-no-store'],
  async run(bench) {
    const body = JSON.stringify({ service: bench.options.serviceA });
    const answer = await bench.target.post(body, untellable(bench));
    expectText(answer, 400, 'Invalid client address');
    expectNoStore(answer);
  },
};

const order: Case = {
  section: '4',
  rule: 'the address is checked after the method and before the body',
  covers: ['4.start-check-1', '4.start-check-2'],
  async run(bench) {
    const from = untellable(bench);
    expectNotAllowed(await bench.target.send({ path: '/auth/start', from }), 'GET');
    expectText(await bench.target.post('{', from), 400, 'Invalid client address');
  },
};

export const clientAddress: Group = {
  name: 'client-address',
  about: 'a client address that cannot be determined',
  cases: [untold, order],
};
