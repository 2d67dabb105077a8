/**
 * The enabled providers by name. A provider that is not discovered yet is known, but refused
 * here for every endpoint.
 */
import { DISCOVERY_RETRY_MS } from '../limits.ts';
import type { Provider } from '../providers/provider.ts';
import { type Refused, refused } from './responses.ts';

/** An enabled provider, discovered or not. */
export interface OfferedService {
  readonly name: string;
  readonly displayName: string;
}

export interface Providers {
  /** In the order of `PROVIDERS`. */
  readonly offered: readonly OfferedService[];
  has(name: string): boolean;
  find(name: string): FoundProvider | Refused;
  /** Called once the provider's endpoints are known. */
  add(provider: Provider): void;
}

interface FoundProvider {
  readonly ok: true;
  readonly provider: Provider;
}

const UNKNOWN = refused('unknown_service');

/** Discovery is tried again after that. */
const UNDISCOVERED = refused('undiscovered', DISCOVERY_RETRY_MS);

export function createProviders(offered: readonly OfferedService[]): Providers {
  const byName = new Map<string, FoundProvider | Refused>();
  for (const { name } of offered) byName.set(name, UNDISCOVERED);
  return {
    offered,
    has: (name) => byName.has(name),
    find: (name) => byName.get(name) ?? UNKNOWN,
    add: (provider) => void byName.set(provider.name, { ok: true, provider }),
  };
}
