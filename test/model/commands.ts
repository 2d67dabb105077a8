/** The random commands that run.ts gives to a relay and to the model. */
import fc from 'fast-check';
import { LEASE_MS, POLL_MS, REPEAT_MS, SESSION_MS } from './model.ts';
import { REQUESTS } from './requests.ts';

const SERVICES = ['mal', 'mal', 'anilist'] as const;

/** On both sides of what ends by itself. */
const pauses = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(1, 250, 1_000, 5_000) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(...[POLL_MS, LEASE_MS, REPEAT_MS].flatMap((ms) => [ms, ms + 1])),
  },
  { weight: 1, arbitrary: fc.constantFrom(SESSION_MS, SESSION_MS + 1) },
);

const COMMANDS = {
  start: 10,
  open: 4,
  continue: 2,
  decline: 2,
  'code comes back': 6,
  'code comes back twice at once': 1,
  'code comes back at another service': 1,
  'error comes back': 1,
  'nothing comes back': 1,
  'provider grants': 6,
  'provider refuses': 2,
  poll: 10,
  'poll once': 2,
  'poll with the state of the link': 1,
  'device leaves': 3,
  acknowledge: 2,
  cancel: 1,
  'two at once': 4,
  'time passes': 6,
  'relay is suspended': 1,
  'relay restarts': 1,
  sweep: 1,
} as const;
type CommandName = keyof typeof COMMANDS;

const fields = fc.record({
  name: fc.oneof(
    ...Object.entries(COMMANDS).map(([name, weight]) => ({
      weight,
      arbitrary: fc.constant(name as CommandName),
    })),
  ),
  /** Which of the sessions, polls or exchanges there are; the youngest most of all. */
  nth: fc.oneof(
    { weight: 3, arbitrary: fc.nat({ max: 2 }) },
    { weight: 1, arbitrary: fc.nat({ max: 9 }) },
  ),
  service: fc.constantFrom(...SERVICES),
  hasAck: fc.boolean(),
  hasCode: fc.boolean(),
  wantsProgress: fc.boolean(),
  waitSeconds: fc.constantFrom(0, 1, 5, 50, 50),
  pauseMs: pauses,
  /** Which of two relays on one store is asked. */
  relay: fc.constantFrom<(0 | 1)[]>(0, 1),
  /** Those that are in progress at once, the second one at the other relay. */
  both: fc.tuple(fc.constantFrom(...REQUESTS), fc.constantFrom(...REQUESTS)),
  /** The exchange hangs until after its lease, as in a relay that is suspended. */
  outlivesLease: fc.oneof(
    { weight: 5, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
  /** The store does nothing while the command runs, or does what it is asked and its reply is lost. */
  store: fc.oneof(
    { weight: 15, arbitrary: fc.constant('up' as const) },
    { weight: 1, arbitrary: fc.constant('down' as const) },
    { weight: 1, arbitrary: fc.constant('loses a reply' as const) },
  ),
});

/** A line of a counter-example. */
export const command = fields.map((asked) => ({
  ...asked,
  [fc.toStringMethod]() {
    const { name, nth, relay, store, ...details } = asked;
    return `${name} ${nth} at ${relay} (store ${store}) ${JSON.stringify(details)}`;
  },
}));
export type Command = typeof fields extends fc.Arbitrary<infer Value> ? Value : never;
