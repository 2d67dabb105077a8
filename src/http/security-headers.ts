/** Headers of every answer. Hazards: hazards.md §2 (Referer, clickjacking, HTML injection). */
import { PAGE_CONTENT_SECURITY_POLICY } from '../pages/layout.tsx';

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
  'Content-Security-Policy': PAGE_CONTENT_SECURITY_POLICY,
} as const;
