/**
 * Whether a page is open in the browser of another app. Providers turn people
 * away there, Google with `disallowed_useragent`, since the app could read
 * along. RFC 8252 §8.12.
 */
const IN_APP =
  /\b(?:FBAN|FBAV|FB_IAB|Instagram|Line\/|MicroMessenger|Twitter|Snapchat|BytedanceWebview|musical_ly|TikTok|Pinterest\/|LinkedInApp|GSA\/)|; wv\)/;

/** A guess by the name that the browser gives itself: it only adds advice to a page. */
export function isInApp(userAgent = ''): boolean {
  return IN_APP.test(userAgent);
}
