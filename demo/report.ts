/** What arrived at the device, for the person to see that it is real. */
import { styleText } from 'node:util';
import type { Arrival } from './receive.ts';
import { durationText } from './screen/countdown.ts';
import { shorten } from './words.ts';

export function reportArrival({ tokens, userinfoName, secondAnswer }: Arrival): string {
  const { accessToken, refreshToken, expiresIn } = tokens;
  const life = expiresIn === undefined ? '' : `, good for ${durationText(expiresIn * 1_000)}`;
  const rows = [
    ['access token', `${shorten(accessToken)}${life}`],
    ['refresh token', refreshToken === undefined ? 'none' : shorten(refreshToken)],
    ['userinfo', `the provider takes the access token: it is ${userinfoName}'s`],
    ['asked again', `${secondAnswer}: the relay hands tokens over once`],
  ];
  const lines = rows.map(
    ([label = '', text]) => `    ${styleText('dim', label.padEnd(14))} ${text}`,
  );
  const heading = styleText(['bold', 'green'], `✓ Demo TV is signed in as ${userinfoName}`);
  return `\n  ${heading}\n\n${lines.join('\n')}\n\n`;
}
