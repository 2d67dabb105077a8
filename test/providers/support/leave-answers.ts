/**
 * A process of its own, so that its memory is that of the exchanges alone:
 * `bun leave-answers.ts <url> <count>...` brings a code there so many times for
 * each count, and says after each how many bytes are resident.
 */
import { outcomeAt } from '../../support/upstream.ts';

const [url = '', ...counts] = process.argv.slice(2);

for (const count of counts) {
  for (let round = 0; round < Number(count); round += 1) {
    const outcome = await outcomeAt(url);
    if (outcome !== 'too_large') throw new Error(`round ${round}: ${outcome}`);
  }
  Bun.gc(true);
  console.log(process.memoryUsage.rss());
}
