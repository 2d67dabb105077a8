/** One sentinel, and what it says of the primary it watches. */
import type { RedisOptions } from './redis-options.ts';
import { makePlace, placeLines } from './redis-place.ts';
import { onFreePort } from './redis-port.ts';
import { launchServer, type RedisServer } from './redis-server.ts';

/** What the sentinels call the primary. */
export const SENTINEL_NAME = 'mymaster';

/**
 * When a primary is given up: soon where it is going to be killed, and otherwise
 * not because the machine is slow. Each sentinel waits longer than the one before
 * and needs no second opinion to call an election, so that the first is the
 * only candidate: three at once tie, and hold it again seconds later. A
 * majority must still elect.
 */
const DOWN_AFTER_MS = { soon: 1_000, late: 60_000 };
const LONGER_BY_MS = 250;
const QUORUM = 1;
const FAILOVER_TIMEOUT_MS = 2_000;

/**
 * How often it looks and tells, which no configuration file can say. With the
 * usual 10 s and 2 s a primary that comes back is a replica only after half a
 * minute; with the usual ping each second a second of silence means
 * nothing, and one failover brings on the next. Five pings are also how long it
 * believes what a replica said of itself, which it asks once a second while the
 * primary is down: were they shorter than that, no replica would be good enough
 * at every other try, four seconds apart. A sentinel that is started again has
 * forgotten it.
 */
const FASTER_MS = {
  'ping-period': 300,
  'info-period': 300,
  'publish-period': 300,
  'ask-period': 300,
};

/** Asks no password itself, and has the one that it needs to look after the primary. */
export function launchSentinel(
  primary: RedisServer,
  index: number,
  options: Pick<RedisOptions, 'tls' | 'program'> & { readonly failsOver?: boolean },
): Promise<RedisServer> {
  const watched = `127.0.0.1 ${primary.port} ${QUORUM}`;
  const downAfterMs = DOWN_AFTER_MS[options.failsOver ? 'soon' : 'late'] + index * LONGER_BY_MS;
  const password = primary.adminPassword;
  return onFreePort(async (port) => {
    const place = await makePlace(port, options);
    const sentinel = await launchServer({
      program: options.program ?? 'redis-server',
      place,
      config: [
        ...placeLines(place),
        `sentinel monitor ${SENTINEL_NAME} ${watched}`,
        `sentinel down-after-milliseconds ${SENTINEL_NAME} ${downAfterMs}`,
        `sentinel failover-timeout ${SENTINEL_NAME} ${FAILOVER_TIMEOUT_MS}`,
        ...(password === ''
          ? []
          : [`sentinel auth-pass ${SENTINEL_NAME} ${JSON.stringify(password)}`]),
      ],
      args: ['--sentinel'],
      login: { password: '' },
      adminPassword: '',
    });
    await sentinel.cli('SENTINEL', 'DEBUG', ...Object.entries(FASTER_MS).flat());
    return sentinel;
  });
}

/** The port of the primary, as this sentinel has it. */
export async function primaryPort(sentinel: RedisServer): Promise<number> {
  const address = await sentinel.cli('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', SENTINEL_NAME);
  return Number(address.split('\n')[1]);
}

export async function countOtherSentinels(sentinel: RedisServer): Promise<number> {
  return parseRecords(await sentinel.cli('SENTINEL', 'SENTINELS', SENTINEL_NAME)).length;
}

/** Those that answer and have a link to the primary. */
export async function countLinkedReplicas(sentinel: RedisServer): Promise<number> {
  const replicas = parseRecords(await sentinel.cli('SENTINEL', 'REPLICAS', SENTINEL_NAME));
  const linked = replicas.filter(
    (replica) => replica.get('flags') === 'slave' && replica.get('master-link-status') === 'ok',
  );
  return linked.length;
}

/** Lines of field and value in turn; each record begins with its name. */
function parseRecords(text: string): ReadonlyMap<string, string>[] {
  const records: Map<string, string>[] = [];
  const lines = text.split('\n');
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const [field = '', value = ''] = lines.slice(at, at + 2);
    if (field === 'name') records.push(new Map());
    records.at(-1)?.set(field, value);
  }
  return records;
}
