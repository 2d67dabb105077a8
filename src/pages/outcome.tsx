/** @jsxImportSource hono/jsx */
/** The page at the end of a sign-in, or where it cannot continue: a mark, a heading, what happened, and to which device. */
import { CODE_LIMIT_PER_ADDRESS } from '../limits.ts';
import { codeField } from './code-form.tsx';
import { Fact, type Frame, renderPage } from './layout.tsx';
import type { Messages } from './messages/en.ts';
import { isolate, Words } from './words.tsx';

/** Paths on a badge. The name is also the CSS class. */
const MARKS = {
  done: 'm7.5 12.5 3 3 6-6.5',
  failed: 'M12 7v6m0 3.5v.01',
  /** Ended without a sign-in, and nothing went wrong. */
  stopped: 'M9 12h6',
  waiting: 'M8 12h.01m3.99 0h.01m3.99 0h.01',
} as const;

/** What is known about the sign-in. */
export interface Names {
  readonly deviceName?: string | undefined;
  readonly provider?: string | undefined;
  /** True for an open sign-in, whose app is not the operator's but the device. */
  readonly isOpen?: boolean | undefined;
  /** Identifies the request in the operator's log. */
  readonly reference?: string | undefined;
}

/** How a page looks, and what it says. */
interface Description {
  /** Default: `failed`. */
  readonly mark?: keyof typeof MARKS;
  /** Default: that the sign-in failed. */
  readonly title?: string;
  /** Default: the title. */
  readonly heading?: string;
  readonly messages: readonly string[];
  /** Below the reference. */
  readonly note?: string;
  readonly refreshSeconds?: number;
}

type Describe = (
  words: Messages,
  names: { app: string | undefined; device: string | undefined; provider: string },
) => Description;

/** The sentences of docs/protocol.md §5. */
type Sentence = 'cancelled' | 'tryAgain' | 'incomplete' | 'notCompleted';

/** The user declined at the provider. */
const userDeclined =
  (sentence: Sentence): Describe =>
  ({ failed }) => ({ mark: 'stopped', messages: [failed[sentence], failed.notSignedIn] });

const providerFailed =
  (sentence: Sentence): Describe =>
  ({ failed }, { provider, device }) => ({
    messages: [failed[sentence], failed.providerFault(provider), failed.startAgain(device)],
  });

/** The user is late, or the operator has to change something. */
const providerRefused =
  (sentence: Sentence): Describe =>
  ({ failed }, { provider, device }) => ({
    messages: [failed[sentence], failed.refused(provider), failed.startAgain(device)],
    note: failed.tellOperator,
  });

const ownFault: Describe = ({ failed }) => ({ messages: [failed.notCompleted, failed.ownFault] });

/** The pages of docs/protocol.md §5: what happened, the probable cause, and one thing to do. */
const OUTCOMES = {
  signed_in: ({ signedIn: { message, ...said } }, { app }) => ({
    mark: 'done',
    ...said,
    messages: [message(app)],
  }),
  access_denied: userDeclined('cancelled'),
  /** The user declined on a page of the relay; also what such a page shows afterwards. */
  declined: ({ failed, cancelledOnDevice: { title } }) => ({
    mark: 'stopped',
    title,
    messages: [failed.notSignedIn],
  }),
  authorization_failed: providerFailed('tryAgain'),
  authorization_refused: providerRefused('tryAgain'),
  /** The user declined, though the provider does not say `access_denied`. */
  user_cancelled: userDeclined('tryAgain'),
  missing_code: providerFailed('incomplete'),
  user_cancelled_without_error: userDeclined('incomplete'),
  exchange_failed: providerFailed('notCompleted'),
  exchange_refused: providerRefused('notCompleted'),
  busy: ownFault,
  undiscovered: ownFault,
  fault: ownFault,
  link_invalid: ({ failed }, { app }) => ({
    mark: 'stopped',
    messages: [failed.linkInvalid(app), failed.linkEnded],
  }),
  other_browser: ({ failed }) => ({ mark: 'stopped', messages: [failed.otherBrowser] }),
  origin_hidden: ({ failed }) => ({ messages: [failed.originHidden] }),
  /** The user comes back after any failure. */
  failed: ({ failed }, { device }) => ({ messages: [failed.tryAgain, failed.startAgain(device)] }),
  in_progress: ({ inProgress: { title, message } }) => ({
    mark: 'waiting',
    title,
    messages: [message],
  }),
  /** The device ended the sign-in. */
  cancelled: ({ cancelledOnDevice: { title, message } }) => ({
    mark: 'stopped',
    title,
    messages: [message],
  }),
  rate_limited: ({ tooManyTries: { title, message } }) => ({
    mark: 'waiting',
    title,
    messages: [message(SECONDS_PER_TRY)],
    refreshSeconds: SECONDS_PER_TRY,
  }),
} as const satisfies Record<string, Describe>;

export type OutcomeName = keyof typeof OUTCOMES;

/** The outcomes at which the user may type another code. */
export const HAS_CODE_FORM: ReadonlySet<OutcomeName> = new Set([
  'link_invalid',
  'other_browser',
] as const);

/** The longest wait for the next try. */
const SECONDS_PER_TRY = Math.ceil(1 / CODE_LIMIT_PER_ADDRESS.ratePerSecond);

export function renderOutcome(
  frame: Frame,
  outcome: OutcomeName,
  { deviceName, provider, isOpen, reference }: Names,
): string {
  const { words } = frame;
  const describe: Describe = OUTCOMES[outcome];
  const appName = isOpen ? deviceName : frame.appName;
  const description = describe(words, {
    app: appName && isolate(appName),
    device: deviceName && isolate(deviceName),
    provider: isolate(provider ?? ''),
  });
  const { mark = 'failed', title = words.failed.title, messages, note } = description;
  const { heading = title, refreshSeconds } = description;
  return renderPage(frame, {
    kind: 'outcome',
    title,
    refreshSeconds,
    body: (
      <>
        <svg class={`badge ${mark}`} viewBox="0 0 24 24" aria-hidden="true">
          <circle cx="12" cy="12" r="12" />
          <path d={MARKS[mark]} pathlength="1" />
        </svg>
        <h1>
          <Words>{heading}</Words>
        </h1>
        {messages.map((message) => (
          <p>
            <Words>{message}</Words>
          </p>
        ))}
        {(deviceName || provider || reference) && (
          <dl class="box">
            {deviceName && <Fact name={words.confirm.device}>{deviceName}</Fact>}
            {provider && <Fact name={words.confirm.service}>{provider}</Fact>}
            {reference && (
              <Fact name={words.failed.reference}>
                <bdi dir="ltr" class="code whole">
                  {reference}
                </bdi>
              </Fact>
            )}
          </dl>
        )}
        {note && reference && <small>{note}</small>}
        {HAS_CODE_FORM.has(outcome) && codeField(frame)}
      </>
    ),
  });
}
