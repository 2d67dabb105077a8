/** What a relay offers: its services, for a menu, and its extensions (docs/extensions.md). */
import { ask, type Call } from './ask.ts';
import { visible } from './errors.ts';
import { isPrintableAscii, type Relay, relayRequest } from './tokens.ts';

export interface Service {
  readonly service: string;
  /** The name for users. */
  readonly name: string;
  /** Whether the device may, or must, exchange the code itself. */
  readonly blind: 'no' | 'can' | 'must';
  /** True if the relay revokes tokens of this service. */
  readonly revoke: boolean;
}

export interface Offer {
  readonly services: readonly Service[];
  readonly extensions: readonly string[];
}

/** `orEmpty`: resolves with an empty offer where an older relay, or a proxy that forwards /auth/ only, has none. */
export const discover = (call: Call<Relay>, orEmpty?: boolean): Promise<Offer> =>
  ask(
    call,
    relayRequest(call.options, '/services'),
    ({ status, json: { services, extensions }, refusal }) => {
      if (status === 200 && Array.isArray(services)) {
        return { services: servicesOf(services), extensions: textsOf(extensions) };
      }
      const isMissing = orEmpty && (status === 404 || (refusal && status > 399));
      return isMissing ? { services: [], extensions: [] } : undefined;
    },
  );

const servicesOf = (services: readonly unknown[]): Service[] =>
  services
    .map(Object)
    .filter(({ service, name }) => isPrintableAscii(service) && typeof name === 'string')
    .map(({ service, name, blind, revoke }) => ({
      service,
      name: visible(name) || service,
      blind: blind === 'can' || blind === 'must' ? blind : 'no',
      revoke: revoke === true,
    }));

export const textsOf = (list: unknown): string[] =>
  Array.isArray(list) ? list.filter(isPrintableAscii) : [];
