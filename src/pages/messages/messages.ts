/**
 * All texts of the pages. Each language has one file with one of these. `app` is the
 * operator's `APP_NAME`. Where it is optional, a sentence without it says "the app";
 * elsewhere the relay's host stands for it. Names come marked, and the page keeps them
 * whole (words.tsx). The English texts of the outcomes are those of docs/protocol.md §5.
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
    /** After `cancelled`: what that means. */
    readonly notSignedIn: string;
    /** In English also what the heading says, and in the two below an instruction: docs/protocol.md §5 has them. */
    readonly tryAgain: string;
    readonly incomplete: string;
    readonly notCompleted: string;
    readonly linkInvalid: (app?: string) => string;
    /** After `linkInvalid`: why, and what a user should know whose first response to the callback was lost. */
    readonly linkEnded: string;
    /** With CONFIRM=always: the user came back in a browser in which nobody pressed Continue, and where to go on. */
    readonly otherBrowser: string;
    /** The provider failed. */
    readonly providerFault: (provider: string) => string;
    /** The provider refused: too late, or the relay is configured wrongly. */
    readonly refused: (provider: string) => string;
    /** Below the reference, after `refused`. */
    readonly tellOperator: string;
    /** This service failed. The sign-in may continue. */
    readonly ownFault: string;
    readonly startAgain: (device?: string) => string;
    /** Label of the number by which the operator finds the request in the log. */
    readonly reference: string;
  };
  /** What this service is and does: large providers require that of an app's home page. */
  readonly home: {
    readonly title: (app?: string) => string;
    readonly about: (app?: string) => string;
    /** For what the access is used, and what is kept of it. */
    readonly data: (app: string) => string;
    /** Label of the list of providers. */
    readonly providers: string;
  };
  readonly codeForm: {
    readonly title: string;
    readonly label: string;
    readonly hint: string;
    readonly submit: string;
  };
  /** Which app, what follows, and when to decline. */
  readonly confirm: {
    readonly title: (app?: string) => string;
    readonly consequence: (provider: string, app: string) => string;
    /** Label of the provider. */
    readonly service: string;
    readonly device: string;
    readonly started: string;
    /** Less than a minute ago. */
    readonly justNow: string;
    /** Above the code: the user compares it with the device's. */
    readonly code: string;
    readonly next: string;
    readonly signInAt: (host: string) => string;
    readonly warning: string;
    readonly continue: string;
    readonly decline: string;
    /** For a user whose browser is part of another app. */
    readonly openInBrowser: string;
  };
  readonly codeIncomplete: TitledMessage;
  /** The same for unknown and expired codes, so that it does not reveal which. */
  readonly codeUnknown: TitledMessage;
  /** The user comes back while the provider's code is being exchanged. */
  readonly inProgress: TitledMessage;
  /** The device has ended the sign-in, and the user opens its link, its code, or comes back from the provider. */
  readonly cancelledOnDevice: TitledMessage;
  /** An unknown path. */
  readonly notFound: TitledMessage;
  readonly tooManyTries: { readonly title: string; readonly message: (seconds: number) => string };
  readonly links: { readonly privacy: string; readonly terms: string; readonly support: string };
}

export interface TitledMessage {
  readonly title: string;
  readonly message: string;
}
