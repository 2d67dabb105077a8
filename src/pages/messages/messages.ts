/**
 * All texts of the pages. Each language has one file with one of these. `app` is the
 * operator's `APP_NAME`; without it a sentence says "the app". The English texts of the
 * outcomes are those of docs/protocol.md §5.
 */
export interface Messages {
  readonly signedIn: {
    readonly title: string;
    readonly heading: string;
    readonly message: (app?: string) => string;
  };
  readonly failed: {
    /** Also the heading. */
    readonly title: string;
    readonly cancelled: string;
    readonly tryAgain: string;
    readonly incomplete: string;
    readonly notCompleted: string;
    readonly linkInvalid: (app?: string) => string;
  };
  /** What this service is, in two sentences. */
  readonly home: {
    readonly title: (app?: string) => string;
    readonly about: (app?: string) => string;
  };
  readonly codeForm: {
    readonly title: string;
    readonly label: string;
    readonly hint: string;
    readonly submit: string;
  };
  /** Which app asks, what follows, and when to decline. */
  readonly confirm: {
    readonly title: (app?: string) => string;
    readonly consequence: (provider: string, app?: string) => string;
    readonly device: string;
    readonly started: string;
    readonly code: string;
    readonly warning: string;
    readonly continue: string;
    readonly decline: string;
    /** For a user whose browser is part of another app. */
    readonly openInBrowser: string;
  };
  readonly codeIncomplete: Notice;
  /** The same for unknown, used and expired codes, so that it does not reveal which. */
  readonly codeUnknown: Notice;
  readonly tooManyTries: Notice;
  readonly declined: Notice;
  /** The device has ended the sign-in, and the user opens its link, its code, or comes back from the provider. */
  readonly cancelledOnDevice: Notice;
}

export interface Notice {
  readonly title: string;
  readonly message: string;
}
