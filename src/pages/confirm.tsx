/** @jsxImportSource hono/jsx */
/**
 * The confirmation page, before the provider: what follows, the code to compare, which device
 * asks, and when to decline. Opening a link or a code that somebody else sent must
 * not complete a sign-in by itself. RFC 8628 §3.3.1, §5.4.
 */
import { Fact, type Frame, renderPage } from './layout.tsx';
import { isolate, Words } from './words.tsx';

/** The sign-in to confirm. */
export interface SignInToConfirm {
  readonly provider: string;
  /** Host of the provider's authorization endpoint. */
  readonly providerHost: string;
  /** True for an open sign-in: the client chose the host, so the user must read that first. docs/open.md. */
  readonly isOpen?: boolean;
  readonly ageMs: number;
  readonly deviceName?: string | undefined;
  /** The code as the device shows it, and its link. Absent if the user came by the long link. */
  readonly userCode?: string | undefined;
  readonly shortLink?: string | undefined;
  /** True if the page is open inside another app. */
  readonly isInApp?: boolean;
}

/** The form has no action, so it is sent to the page's own URL. */
export function renderConfirm(frame: Frame, asking: SignInToConfirm): string {
  const { provider, providerHost, isOpen, deviceName, userCode, shortLink } = asking;
  const words = frame.words.confirm;
  // The relay's operator knows nothing of the client of an open sign-in.
  const appName = isOpen ? undefined : frame.appName && isolate(frame.appName);
  const title = words.title(appName);
  const who = isOpen ? deviceName : frame.host;
  const consequence = words.consequence(isolate(provider), appName || (who && isolate(who)));
  return renderPage(frame, {
    title,
    kind: 'confirm',
    body: (
      <>
        <h1>
          <Words>{title}</Words>
        </h1>
        <p class="text">
          <Words>{consequence}</Words>
        </p>
        <div class="box">
          {isOpen && (
            <p class="compare">
              {words.next}
              <bdi dir="ltr">
                {providerHost.split('.').map((part, index) => (
                  <>
                    {index > 0 && '.'}
                    {index > 0 && <wbr />}
                    {part}
                  </>
                ))}
              </bdi>
            </p>
          )}
          {userCode && (
            <p class="compare">
              {words.code}
              <bdi dir="ltr" class="code">
                {userCode}
              </bdi>
            </p>
          )}
          <dl>
            {deviceName && <Fact name={words.device}>{deviceName}</Fact>}
            <Fact name={words.started}>{formatAge(frame, asking.ageMs)}</Fact>
            {!isOpen && <Fact name={words.service}>{provider}</Fact>}
            {!isOpen && (
              <Fact name={words.next}>
                <Words>{words.signInAt(isolate(providerHost))}</Words>
              </Fact>
            )}
          </dl>
        </div>
        <div class="box note">
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d="M12 3 1.8 20.5h20.4zM12 10v4.5m0 3v.01" />
          </svg>
          <p>
            <Words>{words.warning}</Words>
          </p>
        </div>
        {asking.isInApp && (
          <p class="box">
            {words.openInBrowser}
            {shortLink && (
              <bdi dir="ltr" class="link">
                {shortLink.slice(0, shortLink.lastIndexOf('/') + 1)}
                <wbr />
                <span>{shortLink.slice(shortLink.lastIndexOf('/') + 1)}</span>
              </bdi>
            )}
          </p>
        )}
        <form method="post" class="choice">
          <button type="submit" name="choice" value="continue">
            {words.continue}
          </button>
          <button type="submit" name="choice" value="decline" class="tinted">
            {words.decline}
          </button>
        </form>
      </>
    ),
  });
}

/** "2 minutes ago". An age may be negative, because a store's clock may be set back. */
function formatAge({ language, words }: Frame, ageMs: number): string {
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'always' });
  const minutes = Math.max(0, Math.floor(ageMs / 60_000));
  if (minutes === 0) return words.confirm.justNow;
  return minutes < 60
    ? format.format(-minutes, 'minute')
    : format.format(-Math.floor(minutes / 60), 'hour');
}
