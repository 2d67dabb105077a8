/** An app to start from: it signs the user in, greets them, and signs them out. */
import { StrictMode, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { createSession } from 'sign-in-relay-client';
import { useSession } from 'sign-in-relay-client/react';
import { SignInPrompt } from './sign-in-prompt.tsx';

// Those of `sign-in-relay dev`. In production: your relay, its name of the provider, your API.
const relay = import.meta.env.VITE_RELAY ?? 'http://127.0.0.1:8080';
const api = import.meta.env.VITE_API ?? 'http://127.0.0.1:8081';
const place = { relay, service: 'dev', origins: [api] };
const session = createSession({ ...place, device: 'A starter', storage: findStorage() });

/** Where the browser blocks all cookies, `localStorage` throws. Then the tokens end with the page. */
function findStorage() {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}

function App() {
  const { status } = useSession(session);
  return status === 'signed-in' ? <Home /> : <SignInPrompt session={session} />;
}

function Home() {
  const [greeting, setGreeting] = useState('Loading…');
  useEffect(() => {
    const user = session.fetch(`${api}/userinfo`).then((response) => response.json());
    user.then(({ name }) => setGreeting(`Hello, ${name}`)).catch(() => setGreeting('No name'));
  }, []);
  return (
    <>
      <h1>{greeting}</h1>
      <button type="button" onClick={() => void session.signOut()}>
        Sign out
      </button>
    </>
  );
}

createRoot(document.body).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
