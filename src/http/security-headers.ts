/** Headers of every answer. Hazards: hazards.md §2 (Referer, clickjacking, HTML injection). */
import { contentSecurityPolicy } from '../pages/style.ts';

const EVERYWHERE = {
  // The query of every address here is a secret. protocol.md §4, RFC 9700 §4.2.4.
  'Cache-Control': 'no-store, private',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
} as const;

export const DATA_HEADERS = {
  ...EVERYWHERE,
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

export const PAGE_HEADERS = {
  ...EVERYWHERE,
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentSecurityPolicy("'none'"),
} as const;

/** With no Referer a browser hides the Origin of a form too, and that is what tells it from another site's. */
const WITH_ORIGIN = { 'Referrer-Policy': 'same-origin' } as const;

/** Over PAGE_HEADERS: a page with a form that ends here. */
export const FORM_HEADERS = {
  ...WITH_ORIGIN,
  'Content-Security-Policy': contentSecurityPolicy("'self'"),
} as const;

/** Over PAGE_HEADERS: a page with a form that leads to a provider. */
export const LEAVING_FORM_HEADERS = {
  ...WITH_ORIGIN,
  'Content-Security-Policy': contentSecurityPolicy(),
} as const;
