/** A sign-in over the relay's own protocol, with what the relay offers on request. */
import { AGAIN, another, ask, end, stop } from './ask.ts';
import { fail, visible } from './errors.ts';
import {
  type Link,
  linkOf,
  type OpenClient,
  type PollOptions,
  type Prompt,
  resume,
  type StartOptions,
  startedOf,
  textsOf,
} from './link.ts';
import type { Done, Operation } from './platform.ts';
import type { Storage } from './storage.ts';
import { addressOf, formOf, isText, type Place, type Tokens } from './tokens.ts';

export interface Service {
  readonly service: string;
  /** For people to read. */
  readonly name: string;
  /** Whether the device may, or must, exchange the code itself. */
  readonly blind: 'no' | 'can' | 'must';
  /** Whether the relay revokes tokens of this service. */
  readonly revoke: boolean;
}

/** What a relay offers; nothing, if it is an older one. */
export interface Offer {
  readonly services: readonly Service[];
  readonly extensions: readonly string[];
}

export interface SignInOptions extends StartOptions, PollOptions {
  readonly unfinished: Storage['unfinished'];
  /** Shows the prompt. Called again with a new one when the link has expired. */
  readonly onPrompt: (prompt: Prompt) => void;
}

/** On a forgotten screen. Every link is a session at the relay. */
const MAX_RENEWALS = 3;
/** A session that is gone so soon is not known to the instance that was polled. Another start would not help. */
const LOST_MS = 5_000;
/** After so many requests that failed although something answers, it is CORS, and not a network that has just come back. */
const MISSING_CORS = 2;

export const discover: Operation<Pick<Place, 'relay'>, Offer> = (call, { relay }, done) => {
  const { page } = call.platform;
  const url = `${addressOf(relay)}/services`;
  let reached = 0;
  ask(
    call,
    { url },
    ({ status, json, isJson, refusal, detail }) => {
      const { services } = json;
      if (!status && page && url.indexOf(`${page.origin}/`)) {
        if (reached >= MISSING_CORS) {
          const reason = `The relay's CORS_ORIGINS does not have the origin of this page, ${page.origin}`;
          return end(done, fail('refused', reason));
        }
        page.reach(url, () => {
          reached += 1;
        });
      }
      if (status === 200 && Array.isArray(services)) {
        return end(done, undefined, offerOf(services, json.extensions));
      }
      if (status === 200 && isJson) return end(done, fail('refused', detail));
      if (refusal && status < 400) return end(done, refusal);
      // 404, whoever says so: an older relay, or a proxy that passes on nothing but /auth/.
      if (status === 404 || refusal) return end(done, undefined, offerOf([], []));
      return AGAIN;
    },
    done,
  );
};

function offerOf(services: readonly unknown[], extensions: unknown): Offer {
  const offered: Service[] = [];
  services.forEach((each) => {
    const { service, name, blind, revoke } = Object(each);
    if (!isText(service) || typeof name !== 'string') return;
    offered.push({
      service,
      name: visible(name) || service,
      blind: blind === 'can' || blind === 'must' ? blind : 'no',
      revoke: revoke === true,
    });
  });
  return { services: offered, extensions: textsOf(extensions) };
}

export const start: Operation<StartOptions, Link> = (call, options, done) => {
  const { service, device, code, details, open } = options;
  const { page, date } = call.platform;
  const relay = addressOf(options.relay);

  discover(call, options, (failure, offer) => {
    if (!offer) return done(failure);
    const { services, extensions } = offer;
    const blind = services.filter((each) => each.service === service)[0]?.blind;
    const isOffered = open ? extensions.indexOf('open') >= 0 : blind === 'can' || blind === 'must';
    const isNeeded = !!open || options.blind || blind === 'must';
    const refuse = (who: string) => {
      const what = open ? 'an open sign-in' : 'a blind sign-in with this service';
      done(fail('refused', `${who} ${what}`));
    };
    if (isNeeded && !isOffered) refuse('The relay does not offer');
    else if (!isNeeded && (!isOffered || page || options.blind === false)) request();
    else {
      call.platform.challenge((verifier, asked) => {
        if (call.isStopped) return;
        if (verifier || !isNeeded) request(verifier, asked);
        else refuse('This device has no cryptography for');
      });
    }

    function request(verifier?: string, asked?: string): void {
      let askedAtMs = 0;
      const body = JSON.stringify({
        service: open ? undefined : service,
        authorizationUrl: open && authorizationUrlOf(open, asked),
        code: code !== false,
        ack: true,
        device: device && `${device}`.slice(0, 40),
        details,
        challenge: asked,
      });
      ask(
        call,
        () => {
          askedAtMs = date();
          return { url: open ? `${relay}/open` : `${relay}/auth/start`, body };
        },
        ({ status, json, isJson, refusal, detail, tookMs }) => {
          if (refusal) return end(done, refusal);
          if (status !== 200 || !isJson) return AGAIN;
          const started = startedOf(json);
          if (!started) return end(done, fail('refused', detail));
          // The device may have slept since it asked. By more than that its clock was set.
          const sinceMs = date() - askedAtMs;
          const ageMs = sinceMs < started.expiresIn * 1_000 ? Math.max(sinceMs, tookMs) : tookMs;
          const startedAtMs = date() - ageMs;
          const state = { relay, service, started, extensions, verifier, startedAtMs };
          return end(done, undefined, linkOf(call, options, state));
        },
        done,
      );
    }
  });
};

/** RFC 6749 §4.1.1, RFC 7636 §4.3. The relay adds redirect_uri and state. */
function authorizationUrlOf({ authorizationUrl, clientId }: OpenClient, challenge = ''): string {
  const query = formOf({
    response_type: 'code',
    client_id: clientId,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  return `${authorizationUrl}${authorizationUrl.indexOf('?') < 0 ? '?' : '&'}${query}`;
}

/** Goes on with the sign-in that the process before has not ended: with the same link, or with its tokens. */
export const signIn: Operation<SignInOptions, Tokens> = (call, options, finish) => {
  const { now } = call.platform;
  const { unfinished, save } = options;
  let renewals = 0;

  const done: Done<Tokens> = (failure, tokens) => {
    if (call.isStopped) return;
    stop(call);
    finish(failure, tokens);
  };

  function begin(): void {
    start(call, options, (failure, link) => {
      if (!link) return done(failure);
      hold(link);
      unfinished.save(link.state, (reason) => {
        if (call.isStopped) return;
        if (!reason) return show(link);
        stop(call);
        finish(reason);
      });
    });
  }

  /** Whoever stops this call from now on ends the session. */
  function hold(link: Link): void {
    call.cancel = () => {
      unfinished.remove(() => {});
      link.cancel(another(call), {}, () => {});
    };
  }

  function show(link: Link, isResumed?: boolean): void {
    const { prompt } = link;
    const shownAtMs = now();
    // Of a link that has expired only the result is asked for.
    if (prompt.secondsLeft()) options.onPrompt(prompt);
    const onOpened = () => {
      renewals = 0;
      options.onOpened();
    };
    const saveOnly: PollOptions['save'] = (tokens, saved) => {
      // Too late to cancel.
      call.cancel = undefined;
      save(tokens, saved);
    };
    link.poll(call, { save: saveOnly, onOpened }, (failure, tokens) => {
      const { code } = Object(failure);
      call.cancel = undefined;
      // The result stays at the relay for a moment, and may be saved later.
      if (code === 'storage_failed') return done(failure);
      const isEarly = now() <= shownAtMs + LOST_MS;
      // `now` stands still while a device sleeps, and its link may have expired.
      const isLost = isEarly && prompt.secondsLeft() > 0;
      const isRenewed = code === 'expired' && (!isLost || isResumed) && renewals < MAX_RENEWALS;
      unfinished.remove(() => {
        if (call.isStopped) return;
        if (!isRenewed) return done(failure, tokens);
        renewals += 1;
        begin();
      });
    });
  }

  unfinished.load((failure, state) => {
    if (call.isStopped) return;
    if (failure) return done(failure);
    const link = state ? resume(call, options, state) : undefined;
    if (!link) return begin();
    hold(link);
    show(link, true);
  });
};
