/** The checker of chaos.test.ts finds each broken promise that is planted in a history. What it excuses wrongly would hide one of them; what it does not excuse fails the soak. */
import { describe, expect, test } from 'bun:test';
import { type Broken, checkHistory, KILL } from './check.ts';
import type { HistoryEvent, RequestEvent, What } from './history.ts';

const SIGN_IN = 1;
let requests = 0;

type More = Partial<Omit<RequestEvent, 'type' | 'what' | 'fromMs' | 'toMs'>> & {
  /** Which relay got it. */
  readonly relay?: number;
};

/** A request that takes 100 ms, unless `toMs` says otherwise. */
function request(what: What, fromMs: number, more: More = {}, toMs = fromMs + 100): HistoryEvent[] {
  const { relay = 0, ...rest } = more;
  const id = `request-${requests++}`;
  return [
    { type: 'forwarded', id, relay, atMs: fromMs },
    { type: 'request', id, signIn: SIGN_IN, what, status: 200, fromMs, toMs, ...rest },
  ];
}

const poll = (fromMs: number, more: More = {}, toMs?: number) =>
  request('poll', fromMs, { token: 'token', ...more }, toMs);
const gone = (fromMs: number) => request('poll', fromMs, { status: 410 });
const started = (ack: boolean): HistoryEvent[] => [
  ...request('start', 0),
  { type: 'started', signIn: SIGN_IN, atMs: 100, ack, expiresAtMs: 600_000 },
  ...request('link', 200, { status: 302 }),
];
const back = (more: More = {}) => request('callback', 1_000, { code: 'code', ...more });
const exchange = (token?: string, atMs = 1_050): HistoryEvent[] => {
  const about = { atMs, code: 'code' };
  const received: HistoryEvent = { type: 'exchange', ...about };
  return token ? [received, { type: 'granted', ...about, token, afterMs: 0 }] : [received];
};
const ended = (atMs = 9_000): HistoryEvent[] => [{ type: 'ended', signIn: SIGN_IN, atMs }];
const promotedAt = (atMs: number): HistoryEvent[] => [{ type: 'new primary', atMs, node: 1 }];
const killed = (relay: number, fromMs: number): HistoryEvent[] => [
  { type: 'fault', name: KILL, relay, fromMs, toMs: fromMs + 500 },
];
/** All of a sign-in but what its device receives. */
const upToResult = (ack = false) => [...started(ack), ...back(), ...exchange('token')];

const NONE = {
  deliveredTwice: [],
  deliveredToAnother: [],
  lostWithLiveStore: [],
  hung: [],
  deadEnds: [],
  documented: {},
};

const WHOLE = [...upToResult(), ...poll(2_000), ...gone(3_000), ...ended()];

test('nothing is found in a sign-in as it should be', () => {
  expect(checkHistory(WHOLE)).toMatchObject({ ...NONE, signIns: 1, signedIn: 1 });
  const repeated = [
    ...upToResult(true),
    ...poll(2_000),
    ...poll(2_050),
    ...request('acknowledge', 2_200, { status: 204 }),
    ...gone(3_000),
    ...ended(),
  ];
  expect(checkHistory(repeated)).toMatchObject({ ...NONE, signedIn: 1 });
  const refused = [
    ...started(false),
    ...back({ status: 502 }),
    ...exchange(),
    ...request('poll', 2_000, { error: 'exchange_failed' }),
    ...ended(),
  ];
  expect(checkHistory(refused)).toMatchObject({ ...NONE, refused: 1 });
});

const LOST_POLL = { status: 'lost' } as const;
const ACKNOWLEDGED = request('acknowledge', 2_200, { status: 204 });

const BROKEN: readonly [what: string, broken: Broken, events: readonly HistoryEvent[]][] = [
  ['two polls get the tokens', 'deliveredTwice', [...WHOLE, ...poll(4_000)]],
  [
    'a poll gets the tokens after they were acknowledged',
    'deliveredTwice',
    [...upToResult(true), ...poll(2_000), ...ACKNOWLEDGED, ...poll(3_000), ...ended()],
  ],
  [
    'two polls get the tokens, and a failover was long before',
    'deliveredTwice',
    [...promotedAt(-10_000), ...WHOLE, ...poll(4_000)],
  ],
  ['tokens of a code of nobody', 'deliveredToAnother', [...WHOLE, ...poll(4_000, { token: 'x' })]],
  [
    'tokens of the code of another sign-in',
    'deliveredToAnother',
    [
      ...WHOLE,
      ...request('callback', 900, { signIn: 2, code: 'other' }),
      { type: 'granted', atMs: 950, code: 'other', token: 'of-2', afterMs: 0 },
      ...poll(4_000, { token: 'of-2' }),
    ],
  ],
  [
    'a session is gone after the tokens were granted',
    'lostWithLiveStore',
    [...upToResult(), ...gone(3_000), ...ended()],
  ],
  [
    'the device is told of a failure, though the provider granted tokens',
    'lostWithLiveStore',
    [...upToResult(), ...request('poll', 2_000, { error: 'exchange_failed' }), ...ended()],
  ],
  [
    'a session is gone before its user came back',
    'lostWithLiveStore',
    [...started(false), ...gone(500), ...request('link', 600, { status: 404 }), ...ended()],
  ],
  [
    'a response is lost, and the device acknowledges',
    'lostWithLiveStore',
    [...upToResult(true), ...request('poll', 2_000, LOST_POLL), ...gone(3_000), ...ended()],
  ],
  [
    'a poll was lost before there was a result',
    'lostWithLiveStore',
    [...upToResult(), ...request('poll', 300, LOST_POLL), ...gone(3_000), ...ended()],
  ],
  [
    'another relay was killed',
    'lostWithLiveStore',
    [...upToResult(), ...killed(2, 1_010), ...gone(3_000), ...ended()],
  ],
  [
    'a poll takes longer than 60 s',
    'hung',
    [...WHOLE, ...gone(3_000), ...request('poll', 100, { status: 204 }, 61_000)],
  ],
  ['a poll gets a 500', 'deadEnds', [...WHOLE, ...request('poll', 500, { status: 500 })]],
  ['a callback gets a 500', 'deadEnds', [...WHOLE, ...back({ status: 500 })]],
  [
    'the device is never told',
    'deadEnds',
    [...started(false), ...back({ status: 404 }), ...ended()],
  ],
  [
    'the user sees no page',
    'deadEnds',
    [...started(false).slice(0, 3), ...back({ status: 503 }), ...gone(700_000), ...ended(700_100)],
  ],
  [
    'the page says that it failed, and the device has tokens',
    'deadEnds',
    [...started(false), ...back({ status: 502 }), ...exchange('token'), ...poll(2_000), ...ended()],
  ],
  ['a sign-in does not end', 'deadEnds', WHOLE.slice(0, -1)],
];

describe('it finds', () => {
  test.each([...BROKEN])('%s', (_, broken, events) => {
    const { [broken]: found } = checkHistory(events);
    expect(found.length).toBeGreaterThan(0);
  });
});
