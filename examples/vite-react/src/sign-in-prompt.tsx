import { generate } from 'lean-qr';
import type { Prompt, Session } from 'sign-in-relay-client';
import { useSession } from 'sign-in-relay-client/react';

/** What the user sees until they have signed in, in every state of the session. */
export function SignInPrompt({ session }: { session: Session }) {
  const state = useSession(session);
  const action = (text: string, act: () => unknown) => (
    <button type="button" onClick={() => void act()}>
      {text}
    </button>
  );
  switch (state.status) {
    case 'loading':
    case 'signed-in':
      return null;
    case 'signed-out':
      return (
        <>
          {state.error && <p role="alert">{state.error.show}</p>}
          {action('Sign in', session.signIn)}
        </>
      );
    case 'failed':
      return (
        <>
          <p role="alert">{state.error.show}</p>
          {action('Try again', session.signIn)}
          {action('Back', session.cancel)}
        </>
      );
    default:
      return (
        <>
          <p role="status">{SHOWN[state.status]}</p>
          {'prompt' in state && state.prompt && (
            <Link prompt={state.prompt} secondsLeft={state.secondsLeft} />
          )}
          {action('Cancel', session.cancel)}
        </>
      );
  }
}

const SHOWN = {
  starting: 'One moment…',
  waiting: 'Scan this with your phone:',
  opened: 'Continue on your phone.',
  reconnecting: 'No connection. Trying again…',
};

function Link({ prompt, secondsLeft }: { prompt: Prompt; secondsLeft: number }) {
  const { link, userCode, verificationUrl } = prompt;
  const qr = generate(link).toDataURL({ on: [0, 0, 0], off: [255, 255, 255], scale: 8 });
  return (
    <>
      <a href={link} target="_blank" rel="noreferrer">
        <img src={qr} alt={link} />
      </a>
      {userCode && `or type ${userCode} at ${verificationUrl}`}
      <p>
        {Math.floor(secondsLeft / 60)}:{`${secondsLeft % 60}`.padStart(2, '0')} left
      </p>
    </>
  );
}
