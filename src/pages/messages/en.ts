/**
 * All texts of the pages, in English; each other language has a file with the same. `app` is the
 * operator's `APP_NAME`. Where it is optional, a sentence without it says "the app";
 * elsewhere the relay's host stands for it. Names come marked, and the page keeps them
 * whole (words.tsx). The texts of the outcomes are those of docs/protocol.md §5.
 */
export const en = {
  signedIn: {
    title: 'Signed in',
    heading: 'You’re signed in',
    message: (app = 'the app') => `You can close this tab and return to ${app}.`,
  },
  failed: {
    /** The heading has the same text. */
    title: 'Sign-in failed',
    cancelled: 'Sign-in was cancelled.',
    /** After `cancelled`: what that means. */
    notSignedIn: 'Your device wasn’t signed in. You can close this tab.',
    /** The texts of docs/protocol.md §5: this one repeats the heading, and all three end with an instruction. */
    tryAgain: 'Sign-in failed. Please try again.',
    incomplete: 'Sign-in response was incomplete. Please try again.',
    notCompleted: "Couldn't complete sign-in. Please try again.",
    linkInvalid: (app = 'the app') =>
      `This sign-in link is no longer valid. Please start again from ${app}.`,
    /** After `linkInvalid`: why, and what a user should know whose first response to the callback was lost. */
    linkEnded:
      'It has expired or been used already. If you’ve just signed in, your device may be signed in.',
    /** With CONFIRM=always: the user came back in a browser that lacks the cookie of Continue. */
    otherBrowser:
      'Continue was pressed in another browser, or this one blocks cookies. Finish signing in there, or allow cookies and open the link from your device in this one.',
    /** The provider failed. */
    providerFault: (provider: string) => `${provider} had a problem.`,
    /** The provider refused: too late, or the relay is configured wrongly. */
    refused: (provider: string) => `${provider} declined the sign-in; it may have taken too long.`,
    /** Below the reference, after `refused`. */
    tellOperator: 'If it happens again, tell the operator of this service the reference.',
    /** A proxy removes what shows that a form is of the relay’s own page. */
    originHidden:
      'A proxy hid which page you pressed the button on, so this service can’t continue. Please tell its operator.',
    /** This service failed. The sign-in may continue. */
    ownFault: 'The fault is with this service. Reload this page in a moment.',
    startAgain: (device = 'your device') => `Start again on ${device}.`,
    /** Label of the number by which the operator finds the request in the log. */
    reference: 'Reference',
  },
  /** What this service is and does: large providers require that of an app's home page. */
  home: {
    title: (app?: string) => (app ? `Sign in to ${app}` : 'Sign in with a code'),
    about: (app = 'an app') =>
      `Use your phone to sign in to ${app} on a TV or other device. You sign in on the provider’s own site: your password never passes through here.`,
    /** For what the access is used, and what is kept of it. */
    data: (app: string) =>
      `${app} gets access to your account only if you agree. This service passes the access on to your device, and keeps none of it.`,
    /** Label of the list of providers. */
    providers: 'Services',
  },
  codeForm: {
    title: 'Enter the code',
    label: 'Code shown on your device',
    hint: 'Eight letters, upper or lower case. The dash is optional.',
    submit: 'Check',
  },
  /** Which app, what follows, and when to decline. */
  confirm: {
    title: (app?: string) => (app ? `Sign in to ${app}?` : 'Sign in on your device?'),
    /** `app` is missing for an open sign-in, whose device has no name. */
    consequence: (provider: string, app = 'your device') =>
      `If you continue, ${app} gets access to your ${provider} account.`,
    /** Label of the provider. */
    service: 'Service',
    device: 'Device',
    started: 'Started',
    /** Less than a minute ago. */
    justNow: 'just now',
    /** Above the code: the user compares it with the device's. */
    code: 'Does your device show this code?',
    next: 'Next',
    signInAt: (host: string) => `sign in at ${host}`,
    warning:
      'Only continue if you started this yourself. If somebody sent you the link or the code, decline.',
    continue: 'Continue',
    decline: 'Decline',
    /** For a user whose browser is part of another app. */
    openInBrowser:
      'This page is open inside another app, where signing in is often refused. Please open it in your browser.',
  },
  codeIncomplete: {
    title: 'That code is incomplete',
    message: 'Please enter the eight letters that your device shows.',
  },
  /** The same for unknown and expired codes, so that it does not reveal which. */
  codeUnknown: {
    title: 'This code is not valid',
    message: 'It may have expired or been used already. Check it, or start again on the device.',
  },
  /** An unknown path. */
  notFound: {
    title: 'This page doesn’t exist',
    message: 'Check the address, or enter the code that your device shows.',
  },
  tooManyTries: {
    title: 'Too many attempts',
    message: (seconds: number) =>
      `Please wait. This page will try again automatically in ${seconds} seconds.`,
  },
  /** The user comes back while the provider's code is being exchanged. */
  inProgress: {
    title: 'Almost done',
    message:
      'The sign-in is being completed. Look at your device, or reload this page in a moment.',
  },
  /** The device has ended the sign-in, and the user opens its link, its code, or comes back from the provider. */
  cancelledOnDevice: {
    title: 'Sign-in cancelled',
    message: 'The sign-in was cancelled on the device. You can close this tab.',
  },
  links: { privacy: 'Privacy policy', terms: 'Terms of service', support: 'Help' },
};

export type Messages = typeof en;

export type TitledMessage = Messages['codeUnknown'];
