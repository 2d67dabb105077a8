/** @jsxImportSource hono/jsx */
/**
 * Asks before a sign-in begins: who asks, what follows, since when, and when to
 * decline. A link or a code that somebody else sent must not sign anybody in by
 * itself. RFC 8628 §3.3.1, §5.4.
 */
import { renderPage } from './layout.tsx';
import type { Language } from './messages/catalogue.ts';
import type { Messages } from './messages/messages.ts';

/** What the user should know about the sign-in. */
export interface Request {
  readonly provider: string;
  readonly ageMs: number;
  readonly deviceName?: string;
  /** As the device shows it. Absent when the user came by the long link. */
  readonly userCode?: string;
  /** Present when the user's browser is a part of another app. */
  readonly inApp?: { readonly link?: string };
}

export interface Confirm extends Request {
  readonly language: Language;
  readonly words: Messages['confirm'];
  readonly appName: string | undefined;
}

/** The form has no action: it is sent to the page's own address, which the page need not hold. */
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
          <Fact name={words.started}>{sayAge(language, confirm.ageMs)}</Fact>
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

/** A device may call itself anything, in letters of either direction. */
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

/** "2 minutes ago". Clocks of several machines differ a little, so an age may come out below nothing. */
function sayAge(language: Language, ageMs: number): string {
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  const minutes = Math.max(0, Math.floor(ageMs / 60_000));
  if (minutes === 0) return format.format(0, 'second');
  return minutes < 60
    ? format.format(-minutes, 'minute')
    : format.format(-Math.floor(minutes / 60), 'hour');
}
