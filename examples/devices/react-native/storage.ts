/** Where this app keeps its secrets: the Keychain of iOS and tvOS, the Keystore of Android. */
import * as SecureStore from 'expo-secure-store';
import type { Tokens } from 'sign-in-relay-client';

const TOKENS = 'tokens';
const PENDING = 'pending-sign-in';

/** An entry that cannot be decrypted (a restored backup, a new lock screen) is as good as none. */
async function read(key: string): Promise<string | null> {
  try {
    return await SecureStore.getItemAsync(key);
  } catch {
    return null;
  }
}

export async function loadTokens(): Promise<Tokens | null> {
  try {
    return JSON.parse((await read(TOKENS)) ?? 'null');
  } catch {
    return null;
  }
}

/** Some iOS versions refuse entries of more than 2 KiB: leave `details` out of `signIn` if the provider's tokens are long. */
export const saveTokens = (tokens: Tokens): Promise<void> =>
  SecureStore.setItemAsync(TOKENS, JSON.stringify(tokens));

export const forgetTokens = (): Promise<void> => SecureStore.deleteItemAsync(TOKENS);

/** A sign-in that has not ended: an app that the system kills meanwhile continues it at the next start. */
export const pending = {
  load: () => read(PENDING),
  save: (state: string | null) =>
    state === null
      ? SecureStore.deleteItemAsync(PENDING)
      : SecureStore.setItemAsync(PENDING, state),
};
