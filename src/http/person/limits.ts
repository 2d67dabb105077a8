/**
 * How often user codes may be tried: by one address, and by all together, since
 * whoever guesses has many addresses. Only wrong ones count. The arithmetic is
 * in docs/person.md. RFC 8628 §5.1.
 */
import type { Admission } from '../admission.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import type { RequestContext } from '../request-context.ts';

export type Attempt =
  | Extract<Admission, { ok: false }>
  /** `forgive`: the code was right. */
  | { readonly ok: true; readonly forgive: () => Promise<void> };

const EVERYBODY = 'everybody';

export function createLimitTries({ admit, codeLimits, clock }: AuthDoorOptions) {
  const { perAddress, overall } = codeLimits;
  return async (c: RequestContext): Promise<Attempt> => {
    const own = await admit(c, perAddress);
    if (!own.ok) return own;
    const giveOwnBack = () => perAddress.giveBack(own.bucket, clock.now());
    const all = await overall.take(EVERYBODY, clock.now());
    if (!all.ok) {
      await giveOwnBack();
      return { ...all, refusal: 'rate_limited' };
    }
    return {
      ok: true,
      async forgive() {
        // A right code leads on, even if it is counted as a wrong one.
        await Promise.allSettled([giveOwnBack(), overall.giveBack(EVERYBODY, clock.now())]);
      },
    };
  };
}
