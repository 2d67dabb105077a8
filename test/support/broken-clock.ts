/** Preloaded into a relay: breaks the clock when a signal says so, so that a handler throws. */
import { plantSecret } from './secrets.ts';

process.on('SIGUSR2', () => {
  performance.now = () => {
    throw new Error(`a message that holds ${plantSecret('clock-secret-in-a-message')}`);
  };
});
