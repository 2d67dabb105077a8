/** An app for televisions that signs its user in, and then uses the provider's API. */
import { useCallback, useEffect, useState } from 'react';
import { Text, View } from 'react-native';
import { keepTokens, SignInError } from 'sign-in-relay-client';
import { PROFILE_URL, RELAY, SERVICE } from './config';
import { Button, SignIn, styles } from './SignIn';
import { forgetTokens, loadTokens, saveTokens } from './storage';

/** One for the whole app: so there is one refresh, whoever asks. */
const accessToken = keepTokens({
  relay: RELAY,
  service: SERVICE,
  load: loadTokens,
  save: saveTokens,
});

/** A request to the provider's API. A token that it does not accept any more is refreshed once. */
async function callApi(url: string): Promise<Response> {
  const call = (token: string) => fetch(url, { headers: { Authorization: `Bearer ${token}` } });
  const token = await accessToken();
  const response = await call(token);
  return response.status === 401 ? call(await accessToken(token)) : response;
}

type Screen = 'loading' | 'welcome' | 'sign-in' | 'home';

export default function App() {
  const [screen, setScreen] = useState<Screen>('loading');
  const goHome = useCallback(() => setScreen('home'), []);
  const goBack = useCallback(() => setScreen('welcome'), []);

  useEffect(() => {
    void loadTokens().then((tokens) => setScreen(tokens === null ? 'welcome' : 'home'));
  }, []);

  if (screen === 'sign-in') return <SignIn onDone={goHome} onBack={goBack} />;
  if (screen === 'home') return <Home onSignedOut={goBack} />;
  return (
    <View style={styles.screen}>
      {screen === 'welcome' && <Button label="Sign in" onPress={() => setScreen('sign-in')} />}
    </View>
  );
}

function Home({ onSignedOut }: { onSignedOut(): void }) {
  const [text, setText] = useState('…');

  const signOut = useCallback(() => void forgetTokens().then(onSignedOut), [onSignedOut]);

  useEffect(() => {
    let isMounted = true;
    const load = async () => {
      try {
        const response = await callApi(PROFILE_URL);
        if (isMounted) setText(await response.text());
      } catch (error) {
        // The user has removed the app at the provider, or the tokens are too old.
        if (error instanceof SignInError && error.code === 'invalid_grant') signOut();
        else if (isMounted) setText(error instanceof SignInError ? error.show : String(error));
      }
    };
    void load();
    return () => {
      isMounted = false;
    };
  }, [signOut]);

  return (
    <View style={styles.screen}>
      <Text style={styles.text}>{text}</Text>
      <Button label="Sign out" onPress={signOut} />
    </View>
  );
}
