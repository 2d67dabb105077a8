/** Preloaded into a relay: lets an error arise that nobody catches, when a signal says so. */
import { plantSecret } from './secrets.ts';

function makeError(): TypeError {
  return new TypeError(`a message that holds ${plantSecret('stray-secret-in-a-message')}`);
}

process.on('SIGUSR1', () => void Promise.reject(makeError()));
process.on('SIGUSR2', () => {
  setTimeout(() => {
    throw makeError();
  }, 0);
});
