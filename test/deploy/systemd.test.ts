/** deploy/sign-in-relay.service and the executable, installed by the commands of docs/install.md, under a real systemd. */
import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildExecutable } from '../../scripts/build.ts';
import { newFolder } from '../kit/folder.ts';
import { runChild } from '../kit/process.ts';
import { ROOT } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';

setDefaultTimeout(120_000);

const UNITS = [
  'sign-in-relay.service',
  'sign-in-relay-apply.service',
  'sign-in-relay-failed.service',
];
const shared = newFolder();
const readPage = (name: string) => readFileSync(join(ROOT, 'docs', name), 'utf8');

const SIGN_INS = 50;

/** What the commands printed, by their names. */
let outputs: ReadonlyMap<string, string>;

beforeAll(async () => {
  await buildExecutable(join(shared, 'sign-in-relay'));
  mkdirSync(join(shared, 'deploy'));
  for (const name of [...UNITS, 'sign-in-relay.env']) {
    copyFileSync(join(ROOT, 'deploy', name), join(shared, 'deploy', name));
  }
  const [, install = ''] = /^```sh\n(install -m 755 .*?)^```$/ms.exec(readPage('install.md')) ?? [];
  const [, check = ''] =
    /^```sh\n(cd \/etc\/sign-in-relay\n.*?)^```$/ms.exec(readPage('operating.md')) ?? [];
  const script = `
    exec > /shared/output 2>&1
    begin() { echo "=== $1"; }
    status() { systemctl show --value --property=NRestarts --property=ActiveState sign-in-relay | xargs; }
    untilReady() { until curl --fail --silent --output /dev/null http://127.0.0.1:8080/ready; do sleep 0.1; done; }
    cd /shared
    begin install
    ${install}
    begin verify
    systemd-analyze verify ${UNITS.map((name) => `/etc/systemd/system/${name}`).join(' ')}
    begin security
    systemd-analyze security --no-pager sign-in-relay
    begin start
    settings=/etc/sign-in-relay/environment
    sed -i 's,^#OAUTH_BASE_URL=.*,OAUTH_BASE_URL=http://127.0.0.1:8080,; s,^#MAL_CLIENT_ID=.*,MAL_CLIENT_ID=mine,; s,^#\\(MAL_CLIENT_SECRET\\),\\1,' $settings
    echo POLL_SECONDS=1 >> $settings
    echo START_BURST=100 >> $settings
    echo ${plantSecret('a-secret-of-the-unit')} > /etc/sign-in-relay/secrets/mal
    systemctl enable --now sign-in-relay 2> /dev/null
    untilReady
    status
    begin check
    (${check})
    begin webhook
    cd /etc/systemd/system
    printf '[Socket]\\nListenStream=127.0.0.1:9000\\nAccept=yes\\n' > webhook.socket
    printf '[Service]\\nStandardInput=socket\\nExecStart=sh /shared/webhook\\n' > webhook@.service
    cd /shared
    printf http://127.0.0.1:9000/${plantSecret('a-topic-that-nobody-guesses')} > /etc/sign-in-relay/secrets/notify-url
    systemctl start webhook.socket sign-in-relay-failed
    begin killed
    systemctl kill --signal=KILL sign-in-relay
    until [ "$(status)" = '1 active' ]; do sleep 0.1; done
    untilReady
    begin sign-ins
    relay=http://127.0.0.1:8080
    for each in $(seq ${SIGN_INS}); do
      curl --silent --data '{"service":"mal"}' $relay/auth/start | sed 's/.*"session":"//; s/".*//' >> sessions; echo >> sessions
    done
    begin upgrade
    install -m 755 sign-in-relay /usr/local/bin/
    systemctl restart sign-in-relay && status
    untilReady
    begin polled
    for each in $(cat sessions); do
      curl --silent --output /dev/null --write-out '%{http_code}\n' "$relay/auth/result?session=$each&wait=0"
    done
    rm sessions
    begin journal
    journalctl --unit=sign-in-relay --output=cat --no-pager
    begin applied
    apply() { systemctl start sign-in-relay-apply 2> /dev/null; echo "exit $?, $(status)"; untilReady; }
    pid() { systemctl show --value --property=MainPID sign-in-relay; }
    cp $settings right
    before=$(pid)
    for wrong in POLL_SECONDS=none ADMIN_TOKEN_FILE=/run/credentials/sign-in-relay.service/secret_none SESSIONS_FILE=/nowhere/relay.db; do
      echo $wrong >> $settings
      apply
      cp right $settings
    done
    [ $(pid) = $before ] && echo same process
    printf ${plantSecret('a-second-secret-of-the-unit')} > /etc/sign-in-relay/secrets/new
    echo ANILIST_CLIENT_ID=mine >> $settings
    echo ANILIST_CLIENT_SECRET_FILE=/run/credentials/sign-in-relay.service/secret_new >> $settings
    apply
    [ $(pid) = $before ] || echo another process
    curl --silent http://127.0.0.1:8080/services
    echo
    journalctl --unit=sign-in-relay-apply --output=cat --no-pager
    begin large-secrets
    head --bytes=2M /dev/zero > /etc/sign-in-relay/secrets/large
    systemctl restart sign-in-relay 2> /dev/null
    until [ -s notifications ]; do sleep 0.1; done
    status
    rm /etc/sign-in-relay/secrets/large
    systemctl start sign-in-relay
    untilReady
    begin misconfigured
    echo POLL_SECONDS=none >> $settings
    systemctl restart sign-in-relay
    until systemctl --quiet is-failed sign-in-relay; do sleep 0.1; done
    status
    until [ $(wc -l < notifications) = 2 ]; do sleep 0.1; done
    systemctl list-units --plain --no-legend --failed
    begin errors
    journalctl --unit=sign-in-relay --identifier=sign-in-relay --priority=err --output=cat --no-pager
  `;
  writeFileSync(join(shared, 'script'), script);
  // Answers, and keeps the body, which is one line.
  const webhook = `printf 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'\ngrep '^{' >> /shared/notifications`;
  writeFileSync(join(shared, 'webhook'), webhook);
  const boot = ['unshare', '--mount', 'test/deploy/boot-systemd.sh', shared, 'script'];
  const { exitCode, output } = await runChild(boot, { cwd: ROOT });
  if (exitCode !== 0) throw new Error(`systemd failed:\n${output}`);
  const printed = readFileSync(join(shared, 'output'), 'utf8');
  const parts = printed.split(/^=== /m).map((part) => part.split(/\n(.*)/s));
  outputs = new Map(parts.map(([name = '', text = '']) => [name, text]));
});

test('systemd accepts the unit, and rates its exposure at 1.4 or less', () => {
  expect(outputs.get('install')).toBe('');
  expect(outputs.get('verify')).toBe('');
  const [, exposure] =
    /Overall exposure level .*: ([\d.]+)/.exec(outputs.get('security') ?? '') ?? [];
  expect(Number(exposure)).toBeLessThanOrEqual(1.4);
});

test('with its example of settings it starts without a warning, and serves', () => {
  expect(outputs.get('start')).toBe('0 active\n');
  expect(outputs.get('journal')).toContain('"event":"listening","url":"http://127.0.0.1:8080"');
  expect(outputs.get('journal')).not.toContain('"event":"setting"');
});

test('`check` sees its settings and secrets, by the commands of docs/operating.md', () => {
  for (const line of ['settings: the relay can start', 'base URL: ', 'poll: held for ']) {
    expect(outputs.get('check')).toContain(`✓ ${line}`);
  }
});

test('a killed relay is started again; one is replaced and restarted after a drain', () => {
  expect(outputs.get('upgrade')).toBe('0 active\n');
  const journal = outputs.get('journal') ?? '';
  expect(journal).toContain('restart counter is at 1.');
  expect(journal.match(/"event":"(listening|draining|stopped)/g)).toEqual([
    '"event":"listening',
    '"event":"listening',
    '"event":"draining',
    '"event":"stopped',
    '"event":"listening',
  ]);
});

test('every sign-in in progress survives the upgrade: the unit has a sessions file', () => {
  expect(outputs.get('polled')).toBe('204\n'.repeat(SIGN_INS));
});

test('a relay with a wrong setting is not restarted, and its lines have a priority', () => {
  const [status, ...failedUnits] = outputs.get('misconfigured')?.trim().split('\n') ?? [];
  expect([status, failedUnits.length]).toEqual(['0 failed', 1]);
  expect(
    outputs
      .get('errors')
      ?.match(/^{.*"event":"\w+"/gm)
      ?.map((line) => line.slice(-20)),
  ).toEqual([expect.stringContaining('"setting"'), expect.stringContaining('"not_started"')]);
});

test('sign-in-relay-apply restarts a relay only if its settings are right', () => {
  const text = outputs.get('applied') ?? '';
  const lines = text.split('\n');
  const left = [...Array(3).fill('exit 1, 0 active'), 'same process'];
  expect(lines.slice(0, 6)).toEqual([...left, 'exit 0, 0 active', 'another process']);
  expect(lines[6]).toContain('anilist');
  for (const problem of [
    'POLL_SECONDS must be a whole number',
    'secret_none does not exist',
    'SESSIONS_FILE /nowhere does not exist',
  ]) {
    expect(text).toContain(problem);
  }
});

test('a relay whose secrets systemd cannot pass on is not started again', () => {
  expect(outputs.get('large-secrets')).toBe('0 failed\n');
});

test('the second unit notifies of wrong settings and secrets, and of no other end', () => {
  const lines = readFileSync(join(shared, 'notifications'), 'utf8').trim().split('\n');
  const text = expect.stringContaining('does not start: its journal says what is wrong');
  const sent = { text, content: text };
  expect(lines.map((line) => JSON.parse(line))).toEqual([sent, sent]);
});
