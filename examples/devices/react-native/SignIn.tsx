/** The screen that signs a user in: a QR code, a code to type, a countdown, and Back. */
import { useEffect } from 'react';
import { BackHandler, Pressable, StyleSheet, Text, View } from 'react-native';
import type { Qr } from 'sign-in-relay-client';
import { useSignIn } from 'sign-in-relay-client/react';
import { RELAY, SERVICE } from './config';
import { pending, saveTokens } from './storage';

interface Props {
  onDone(): void;
  onBack(): void;
}

export function SignIn({ onDone, onBack }: Props) {
  const { status, prompt, secondsLeft, error, restart } = useSignIn({
    relay: RELAY,
    service: SERVICE,
    device: 'Living room',
    save: saveTokens,
    pending,
  });

  useEffect(() => {
    if (status === 'done') onDone();
  }, [status, onDone]);

  // Back on Android TV and Fire TV, Menu on Apple TV. The hook cancels when this screen is left.
  useEffect(() => {
    const subscription = BackHandler.addEventListener('hardwareBackPress', () => {
      onBack();
      return true;
    });
    return () => subscription.remove();
  }, [onBack]);

  if (error !== undefined) {
    return (
      <View style={styles.screen}>
        <Text style={styles.text}>{error.show ?? error.message}</Text>
        <Button label="Try again" onPress={restart} />
      </View>
    );
  }
  if (prompt === undefined) {
    return (
      <View style={styles.screen}>
        <Text style={styles.text}>One moment…</Text>
      </View>
    );
  }
  return (
    <View style={styles.screen}>
      {prompt.qr && <QrCode matrix={prompt.qr.matrix} />}
      {prompt.userCode !== undefined && (
        <Text style={styles.text}>Or open {prompt.verificationUrl} and type</Text>
      )}
      <Text style={styles.code}>{prompt.userCode ?? prompt.link}</Text>
      <Text style={styles.text}>
        {status === 'opened' ? 'Continue on your phone' : `Valid for ${clock(secondsLeft)}`}
      </Text>
    </View>
  );
}

export function Button({ label, onPress }: { label: string; onPress(): void }) {
  return (
    <Pressable hasTVPreferredFocus style={styles.button} onPress={onPress}>
      <Text style={styles.code}>{label}</Text>
    </Pressable>
  );
}

const MODULE = 8;
/** Without it phones do not find the code. */
const QUIET_ZONE = 4 * MODULE;

/** Dark on light, whatever the theme. It needs no package: each run of dark modules is a view. */
function QrCode({ matrix }: Pick<Qr, 'matrix'>) {
  const size = matrix.length * MODULE + 2 * QUIET_ZONE;
  return (
    <View
      accessibilityLabel="QR code"
      style={{ width: size, height: size, backgroundColor: '#fff' }}
    >
      {runsOf(matrix).map(({ row, column, length }) => (
        <View
          key={`${row} ${column}`}
          style={{
            position: 'absolute',
            top: QUIET_ZONE + row * MODULE,
            left: QUIET_ZONE + column * MODULE,
            width: length * MODULE,
            height: MODULE,
            backgroundColor: '#000',
          }}
        />
      ))}
    </View>
  );
}

function runsOf(matrix: Qr['matrix']) {
  const runs: { row: number; column: number; length: number }[] = [];
  for (const [row, cells] of matrix.entries()) {
    for (const [column, isDark] of cells.entries()) {
      const last = runs.at(-1);
      if (!isDark) continue;
      if (last?.row === row && last.column + last.length === column) last.length += 1;
      else runs.push({ row, column, length: 1 });
    }
  }
  return runs;
}

const clock = (seconds: number) =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;

export const styles = StyleSheet.create({
  screen: {
    flex: 1,
    gap: 24,
    alignItems: 'center',
    justifyContent: 'center',
    backgroundColor: '#111',
  },
  text: { color: '#fff', fontSize: 24 },
  code: { color: '#fff', fontSize: 40, fontWeight: '700' },
  button: { padding: 16, borderRadius: 8, backgroundColor: '#246' },
});
