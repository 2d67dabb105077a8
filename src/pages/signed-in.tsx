/** @jsxImportSource hono/jsx */
/** `protocol.md` §4: titled "Signed in", says that it succeeded, and what to do now. */
import { renderPage } from './layout.tsx';

export const signedInPage = renderPage({
  title: 'Signed in',
  body: (
    <>
      <svg class="good" viewBox="0 0 24 24" aria-hidden="true">
        <circle cx="12" cy="12" r="10" />
        <path d="m7.5 12.5 3 3 6-6.5" />
      </svg>
      <h1>You're signed in</h1>
      <p>You can close this tab and return to the app.</p>
    </>
  ),
});
