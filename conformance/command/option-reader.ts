/** Reads single option values and collects what is wrong with them, so that all faults are told at once. */

import type { Group } from '../engine/case.ts';
import type { Spread } from './options.ts';

/** Lists with commas, as given. */
export interface Choice {
  readonly only?: string | undefined;
  readonly except?: string | undefined;
  readonly with?: string | undefined;
}

export interface OptionReader {
  readonly faults: string[];
  url(option: string, value: string | undefined): string;
  count(option: string, value: string, least: number): number;
  hostPort(option: string, value: string): { host: string; port: number };
  name(option: string, value: string): string;
  spread(value: string, baseUrl: string): Spread;
  groups(choice: Choice, all: readonly Group[]): Set<string>;
}

export function createReader(): OptionReader {
  const faults: string[] = [];
  const refuse = (option: string, value: string, want: string) => {
    faults.push(`--${option} '${value}': must be ${want}`);
  };
  return {
    faults,
    url(option, value) {
      if (value === undefined) faults.push(`--${option} is required`);
      else if (!isHttpUrl(value))
        refuse(option, value, 'an http:// or https:// URL without a query');
      return (value ?? '').replace(/\/+$/, '');
    },
    count(option, value, least) {
      if (/^\d{1,9}$/.test(value) && Number(value) >= least) return Number(value);
      refuse(option, value, `a whole number, at least ${least}`);
      return least;
    },
    hostPort(option, value) {
      const [, host, port] = /^(.+):(\d{1,5})$/.exec(value) ?? [];
      if (host === undefined || Number(port) > 65_535) refuse(option, value, 'HOST:PORT');
      return { host: (host ?? '').replace(/^\[|\]$/g, ''), port: Number(port) };
    },
    name(option, value) {
      if (!/^[A-Za-z0-9_-]+$/.test(value))
        refuse(option, value, 'a name of letters, digits, - and _');
      return value;
    },
    spread(value, baseUrl) {
      if (value !== 'loopback' && value !== 'forwarded' && value !== 'none') {
        refuse('spread', value, 'loopback, forwarded or none');
      } else if (value === 'loopback' && isHttpUrl(baseUrl) && !isLoopback(baseUrl)) {
        faults.push(
          `--spread loopback: ${baseUrl} is not on 127.0.0.0/8 or localhost; use forwarded or none`,
        );
      }
      return value as Spread;
    },
    groups: (choice, all) => chooseGroups(choice, all, faults),
  };
}

function chooseGroups(choice: Choice, all: readonly Group[], faults: string[]): Set<string> {
  const named = (option: string, value: string | undefined, known: readonly string[]) => {
    const names = value === undefined ? [] : value.split(',').map((name) => name.trim());
    for (const name of names.filter((each) => !known.includes(each))) {
      faults.push(`--${option} '${name}': no such thing; there are ${known.join(', ')}`);
    }
    return names;
  };
  const names = all.map(({ name }) => name);
  const extensions = [...new Set(all.flatMap(({ extension }) => extension ?? []))];
  const offered = named('with', choice.with, extensions);
  const usual = all.filter(({ extension }) => !extension || offered.includes(extension));
  const kept =
    choice.only === undefined ? usual.map(({ name }) => name) : named('only', choice.only, names);
  const dropped = named('except', choice.except, names);
  const chosen = new Set(kept.filter((name) => !dropped.includes(name)));
  if (chosen.size === 0) faults.push('--only and --except leave no group to run');
  return chosen;
}

function isHttpUrl(value: string): boolean {
  return URL.canParse(value) && /^https?:\/\/[^?#]+$/.test(value);
}

function isLoopback(url: string): boolean {
  const host = new URL(url).hostname;
  return host === 'localhost' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
