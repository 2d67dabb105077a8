/** Preloaded into a relay: lets an error arise that nobody catches, when a signal says so. */
import { plantSecret } from './secrets.ts';

function makeError(): TypeError {
  const secret = plantSecret('stray-secret-in-a-message');
  return new TypeError(`a message that holds ${secret}\n    at ${secret}`);
}

process.on('SIGUSR1', () => void Promise.reject(makeError()));
process.on('SIGUSR2', () => {
  setTimeout(() => {
    throw makeError();
  }, 0);
});
