/** @jsxImportSource hono/jsx */
/**
 * The confirmation page, before the provider: which app and device ask, since when,
 * what follows, and when to decline. Opening a link or a code that somebody else sent
 * must not complete a sign-in by itself. RFC 8628 §3.3.1, §5.4.
 */
import { renderPage } from './layout.tsx';
import type { Language } from './messages/catalogue.ts';
import type { Messages } from './messages/messages.ts';

/** What the user should know about the sign-in. */
export interface Request {
  readonly provider: string;
  readonly ageMs: number;
  readonly deviceName?: string;
  /** As the device shows it. Absent if the user came by the long link. */
  readonly userCode?: string;
  /** Present if the page is open inside another app. */
  readonly inApp?: { readonly link?: string };
}

export interface Confirm extends Request {
  readonly language: Language;
  readonly words: Messages['confirm'];
  readonly appName: string | undefined;
}

/** The form has no action, so it is sent to the page's own address. */
export function renderConfirm(confirm: Confirm): string {
  const { language, words, appName, provider, deviceName, userCode, inApp } = confirm;
  const title = words.title(appName);
  return renderPage({
    language,
    title,
    isAsking: true,
    body: (
      <>
        <h1>{title}</h1>
        <p>{words.consequence(provider, appName)}</p>
        <dl>
          {deviceName && <Fact name={words.device}>{deviceName}</Fact>}
          <Fact name={words.started}>{formatAge(language, confirm.ageMs)}</Fact>
          {userCode && (
            <Fact name={words.code} isCode>
              {userCode}
            </Fact>
          )}
        </dl>
        <p class="warning">{words.warning}</p>
        {inApp && (
          <p class="aside">
            {words.openInBrowser}
            {inApp.link && (
              <bdi dir="ltr" class="link">
                {inApp.link}
              </bdi>
            )}
          </p>
        )}
        <form method="post" class="choice">
          <button type="submit" name="choice" value="continue">
            {words.continue}
          </button>
          <button type="submit" name="choice" value="decline">
            {words.decline}
          </button>
        </form>
      </>
    ),
  });
}

/** Isolates the value, because a device's name may be in a script of the other direction. */
function Fact(fact: { name: string; isCode?: boolean; children: string }) {
  return (
    <div>
      <dt>{fact.name}</dt>
      <dd>
        {fact.isCode ? (
          <bdi dir="ltr" class="code">
            {fact.children}
          </bdi>
        ) : (
          <bdi>{fact.children}</bdi>
        )}
      </dd>
    </div>
  );
}

/** "2 minutes ago". An age may be negative, because the clocks of several machines differ a little. */
function formatAge(language: Language, ageMs: number): string {
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  const minutes = Math.max(0, Math.floor(ageMs / 60_000));
  if (minutes === 0) return format.format(0, 'second');
  return minutes < 60
    ? format.format(-minutes, 'minute')
    : format.format(-Math.floor(minutes / 60), 'hour');
}
