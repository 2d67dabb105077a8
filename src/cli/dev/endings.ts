/** How a sign-in can end at the dev relay: one table for the page, the requests, docs/dev.md and the tests. */

interface Description {
  /** What happens, for the developer. */
  readonly does: string;
  /** What the device gets. */
  readonly device: string;
  /** Decided when the device starts, so it cannot be chosen later on the provider's page. */
  readonly atStart?: true;
  /** How long it takes, unless a request sets another duration. */
  readonly seconds?: number;
}

const TABLE = {
  approve: { does: 'The user signs in.', device: 'tokens' },
  deny: { does: 'The user cancels at the provider.', device: '`access_denied`' },
  'deny-at-relay': {
    does: "The user cancels on the relay's confirmation page.",
    device: '`access_denied`',
    atStart: true,
  },
  'provider-error': {
    does: 'The provider sends the user back with `server_error`.',
    device: '`authorization_failed`',
  },
  'no-code': {
    does: 'The provider sends the user back without a code or an error.',
    device: '`missing_code`',
  },
  'exchange-fails': {
    does: "The relay gets a 500 from the provider's token endpoint.",
    device: '`exchange_failed`',
  },
  never: {
    does: 'The user never finishes at the provider.',
    device: '204 until the link expires, then 410',
  },
  expires: {
    does: 'The sign-in expires in 10 seconds.',
    device: 'starts with `expiresIn: 10` if chosen before the start; 410 after 10 s',
    seconds: 10,
  },
  slow: {
    does: 'The provider takes 5 seconds for its page, and 5 more for the tokens.',
    device: 'tokens, 10 s after the user has signed in',
    seconds: 10,
  },
  'cut-off': {
    does: 'The connection breaks in the middle of the response that carries the tokens.',
    device: 'half a response. With `ack` the next poll gets the tokens again, without it 410',
  },
  'refresh-refused': {
    does: 'The user signs in. The provider refuses every refresh.',
    device: 'tokens; a refresh gets `invalid_grant`',
  },
  'refresh-rotates': {
    does: 'The user signs in. Each refresh brings a new refresh token, and the old one no longer works.',
    device: 'tokens; a refresh brings a new refresh token',
  },
  'refresh-503': {
    does: 'The user signs in. The first two refreshes get a 503 from the provider, later ones succeed.',
    device: 'tokens; two refreshes get a 503 with `Retry-After: 5`, the third a new access token',
  },
  restart: {
    does: 'The relay restarts and is down for 5 seconds; sign-ins survive, as with Redis.',
    device: '204, then refused connections, then tokens',
    seconds: 5,
  },
  forgotten: {
    does: 'The relay restarts and is down for 5 seconds; sign-ins are lost, as without Redis.',
    device: '204, then refused connections, then 410',
    seconds: 5,
  },
  full: {
    does: 'The relay has as many sign-ins in progress as it may have.',
    device: '503 to the start; the next start works',
    atStart: true,
  },
  'rate-limited': {
    does: 'The device has started too many sign-ins.',
    device: '429 with `Retry-After: 2` to the start; the next start works',
    atStart: true,
    seconds: 2,
  },
} as const satisfies Record<string, Description>;

export type EndingName = keyof typeof TABLE;

export const ENDINGS: Readonly<Record<EndingName, Description>> = TABLE;

export const ENDING_NAMES = Object.keys(TABLE) as EndingName[];

export const findEnding = (text: unknown) => ENDING_NAMES.find((name) => name === text);

/** How a sign-in is to end. */
export interface Plan {
  readonly ending: EndingName;
  readonly seconds: number;
  /** True if the dev relay opens the link itself, as a user would. */
  readonly auto: boolean;
}

export function planFor(ending: EndingName, seconds?: number, auto = false): Plan {
  return { ending, seconds: seconds ?? ENDINGS[ending].seconds ?? 0, auto };
}
