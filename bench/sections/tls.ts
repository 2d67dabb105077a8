/** A provider over TLS, as every real one is: what its handshakes cost. */
import type { Bench, Section } from '../bench.ts';
import { cpuOfEach } from '../support/accounting.ts';
import { type Arrangement, arrangeMemory } from '../support/arrangements.ts';
import { makeCertificate } from '../support/certificate.ts';
import { providerEnv } from '../support/relay.ts';

const SECTION = 'A provider over TLS';

export const measureTls: Section = async (bench) => {
  const certificate = makeCertificate();
  if (certificate === undefined) return console.log('There is no openssl here: TLS is left out.');
  const { generator, plan } = bench;
  const { key, cert, caFile } = certificate;
  const port = await generator.call('startProvider', { tls: { key, cert } });
  const env = { ...providerEnv(port, 'https'), NODE_EXTRA_CA_CERTS: caFile };
  const [plain, tls] = [await arrangeMemory(bench), await arrangeMemory({ ...bench, env })];
  const each = { ...env, PROVIDER_KEEP_ALIVE: 'off' };
  const own = await arrangeMemory({ ...bench, env: each });
  try {
    for (const { relays } of [plain, tls, own]) {
      await generator.call('signIns', { relays, count: plan.warmUpSignIns, atOnce: plan.atOnce });
    }
    for (let round = 0; round < plan.rounds; round += 1) {
      const without = await measureSignIns(bench, plain, 'plain http');
      const over = await measureSignIns(bench, tls, 'TLS');
      const alone = await measureSignIns(bench, own, 'TLS, a connection each');
      const addDifference = (name: string, difference: number) =>
        bench.figures.add({ section: SECTION, name, column: 'memory', unit: 'µs' }, difference);
      addDifference('CPU that TLS adds to a sign-in', over - without);
      addDifference(
        'CPU that a connection each adds to that (PROVIDER_KEEP_ALIVE=off)',
        alone - over,
      );
    }
  } finally {
    await Promise.all([plain.stop(), tls.stop(), own.stop()]);
  }
};

async function measureSignIns(
  { generator, plan, figures }: Bench,
  { relays, pids, column }: Arrangement,
  scheme: string,
): Promise<number> {
  const { signInsARound: count, atOnce } = plan;
  const signIns = () => generator.call('signIns', { relays, count, atOnce });
  const { each, result } = await cpuOfEach(pids, count, signIns);
  const add = (name: string, unit: string, value: number) =>
    figures.add({ section: SECTION, name: `${name}, ${scheme}`, column, unit }, value);
  add('CPU of the relay a sign-in', 'µs', each);
  add('connections made to the provider, a sign-in', '', result.connectionsPerSignIn);
  return each;
}
