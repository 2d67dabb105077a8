/**
 * Everything the relay says to a person. One file per language holds one of
 * these; `app` is the operator's `APP_NAME`, and without it a sentence says
 * "the app". The English is `protocol.md` §3 and §4 to the letter.
 */
export interface Messages {
  readonly signedIn: {
    readonly title: string;
    readonly heading: string;
    readonly message: (app?: string) => string;
  };
  readonly failed: {
    /** Heading too. */
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
  /** Says who asks, what follows, and when not to. */
  readonly confirm: {
    readonly title: (app?: string) => string;
    readonly consequence: (provider: string, app?: string) => string;
    readonly device: string;
    readonly started: string;
    readonly code: string;
    readonly warning: string;
    readonly continue: string;
    readonly decline: string;
    /** To somebody whose browser is a part of another app. */
    readonly openInBrowser: string;
  };
  readonly codeIncomplete: Notice;
  /** One for codes unknown, used and expired: which of them is nobody's business. */
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
