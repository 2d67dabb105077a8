import { findAddressProblem } from '../providers/address.ts';
import { type ProviderFacts, SUBDOMAIN } from '../providers/catalogue.ts';
import { createFault } from './faults.ts';
import { prefixOf } from './names.ts';
import type { Reading } from './read-each.ts';

/** Where a provider's two addresses come from: its settings, else the catalogue and `_SUBDOMAIN`. */

export interface GivenAddresses {
  readonly AUTHORIZE_URL?: string;
  readonly TOKEN_URL?: string;
  readonly SUBDOMAIN?: string;
}

type Addresses = Pick<ProviderFacts, 'authorizeUrl' | 'tokenUrl'>;

/** Both addresses. One that is missing or wrong is among the faults, and empty here. */
export function readAddresses(
  reading: Reading,
  name: string,
  given: GivenAddresses,
  facts: ProviderFacts | undefined,
): Addresses {
  const prefix = prefixOf(name);
  const isSet = (setting: string) => reading.env[prefix + setting] !== undefined;
  // One that is set counts even when it is wrong: that fault is reported already.
  const known = {
    AUTHORIZE_URL: isSet('AUTHORIZE_URL') ? '' : facts?.authorizeUrl,
    TOKEN_URL: isSet('TOKEN_URL') ? '' : facts?.tokenUrl,
  };
  for (const [setting, address] of Object.entries(known)) {
    if (address !== undefined) continue;
    const problem = `must be set: ${name} is not in the catalogue`;
    reading.faults.push(createFault(prefix + setting, undefined, problem));
  }
  const templates = Object.values(known).filter((address) => address?.includes(SUBDOMAIN));
  const subdomain = readSubdomain(reading, `${prefix}SUBDOMAIN`, given.SUBDOMAIN, templates[0]);
  const fill = (address = '') => address.replace(SUBDOMAIN, subdomain);
  if (facts?.departure && (known.AUTHORIZE_URL || known.TOKEN_URL)) {
    const problem = `belongs to a provider that ${facts.departure}: the sign-in may fail`;
    reading.warnings.push({ setting: `${prefix}CLIENT_ID`, problem });
  }
  return {
    authorizeUrl: given.AUTHORIZE_URL ?? fill(known.AUTHORIZE_URL),
    tokenUrl: given.TOKEN_URL ?? fill(known.TOKEN_URL),
  };
}

function readSubdomain(
  { env, faults, warnings }: Reading,
  setting: string,
  subdomain: string | undefined,
  template: string | undefined,
): string {
  const value = env[setting];
  if (template === undefined) {
    const problem = 'has no use: the addresses of this provider are complete';
    if (value !== undefined) warnings.push({ setting, problem });
  } else if (value === undefined) {
    faults.push(createFault(setting, value, `must be set: it completes ${template}`));
  } else if (subdomain !== undefined) {
    const problem = findSubdomainProblem(subdomain, template);
    if (problem) faults.push(createFault(setting, value, problem));
  }
  return subdomain ?? '';
}

/** A whole host where only a part belongs would lead to an address that does not exist. */
function findSubdomainProblem(subdomain: string, template: string): string | undefined {
  const [, ending = ''] = /\[subdomain\]([^/]*)/.exec(template) ?? [];
  if (ending && (/[/:]/.test(subdomain) || subdomain.endsWith(ending))) {
    return `must be only what stands before ${ending}`;
  }
  const problem = findAddressProblem(template.replace(SUBDOMAIN, subdomain));
  return problem && `must complete ${template} to an address`;
}
