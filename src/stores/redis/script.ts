/** What every script is made of. */
import { hash } from 'node:crypto';

export interface Script {
  readonly text: string;
  /** What the server knows it by once it has seen it. */
  readonly sha1: string;
}

export function script(text: string): Script {
  return { text, sha1: hash('sha1', text) };
}

/** Kept this much longer than it is alive: dying is decided by the record itself, this is only the cleaning. */
export const GARBAGE_MS = 60_000;

/** Expired sessions that one sweep script removes: about a millisecond. */
export const SWEPT_AT_ONCE = 250;

/** How the answer begins to a command that came too late, and was not carried out. */
export const TOO_LATE = 'LATE';

/**
 * The clock is the store's, so that relays whose clocks differ agree; a test may
 * bring its own. `until <ms>`: later than that nobody waits for the script any more.
 */
export const NOW = `
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  local latest = tonumber(string.match(ARGV[1], '%d+'))
  if latest and now > latest then return redis.error_reply('${TOO_LATE} not carried out') end
end
`;

/**
 * A full store refuses what takes memory if a script begins with it. What is
 * under way is brought to its end, so it begins with what takes none; only new
 * sessions are refused.
 */
export const evenIfFull = (key: string) => `redis.call('HDEL', ${key}, '')\n`;

/** What a message that a user has opened a link begins with. The poll id follows. */
export const OPENED = 'opened ';

/**
 * Needs: session, channels (their prefix; '' in a Cluster, where the caller
 * publishes). Tells every instance where a poll of the session waits. Leaves:
 * poll, waiting (the instances).
 */
const wakeWith = (message: string) => `
local poll, waiting = redis.call('HGET', session, 'd'), {}
local fields = redis.call('HGETALL', session)
for i = 1, #fields, 2 do
  local instance = string.match(fields[i], '^w:(.+)')
  if instance then
    table.insert(waiting, instance)
    if channels ~= '' then redis.call('PUBLISH', channels .. instance, ${message}) end
  end
end
`;

export const WAKE = wakeWith('poll');
export const WAKE_OPENED = wakeWith(`'${OPENED}' .. poll`);
