/** One line to whoever runs the demo. */
export function say(text: string): void {
  process.stdout.write(`  ${text}\n`);
}
