/** @jsxImportSource hono/jsx */
/** `protocol.md` §4: title and heading "Sign-in failed", and a paragraph with the message. */
import { renderPage } from './layout.tsx';

export function failedPage(message: string): string {
  return renderPage({
    title: 'Sign-in failed',
    body: (
      <>
        <svg class="bad" viewBox="0 0 24 24" aria-hidden="true">
          <circle cx="12" cy="12" r="10" />
          <path d="M12 7v6m0 3.5v.01" />
        </svg>
        <h1>Sign-in failed</h1>
        <p>{message}</p>
      </>
    ),
  });
}
