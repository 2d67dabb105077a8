import type { Messages } from './messages.ts';

export const en: Messages = {
  signedIn: {
    title: 'Signed in',
    heading: 'You’re signed in',
    message: (app = 'the app') => `You can close this tab and return to ${app}.`,
  },
  failed: {
    title: 'Sign-in failed',
    cancelled: 'Sign-in was cancelled.',
    notSignedIn: 'Your device wasn’t signed in. You can close this tab.',
    tryAgain: 'Sign-in failed. Please try again.',
    incomplete: 'Sign-in response was incomplete. Please try again.',
    notCompleted: "Couldn't complete sign-in. Please try again.",
    linkInvalid: (app = 'the app') =>
      `This sign-in link is no longer valid. Please start again from ${app}.`,
    linkEnded:
      'It has expired or been used already. If you’ve just signed in, your device may be signed in.',
    otherBrowser:
      'Continue was pressed in another browser. Finish signing in there, or open the link from your device in this one.',
    providerFault: (provider) => `${provider} had a problem.`,
    refused: (provider) => `${provider} declined the sign-in; it may have taken too long.`,
    tellOperator: 'If it happens again, tell the operator of this service the reference.',
    ownFault: 'The fault is with this service. Reload this page in a moment.',
    startAgain: (device = 'your device') => `Start again on ${device}.`,
    reference: 'Reference',
  },
  home: {
    title: (app) => (app ? `Sign in to ${app}` : 'Sign in with a code'),
    about: (app = 'an app') =>
      `Use your phone to sign in to ${app} on a TV or other device. You sign in on the provider’s own site: your password never passes through here.`,
    data: (app) =>
      `${app} gets access to your account only if you agree. This service passes the access on to your device, and keeps none of it.`,
    providers: 'Services',
  },
  codeForm: {
    title: 'Enter the code',
    label: 'Code shown on your device',
    hint: 'Eight letters, upper or lower case. The dash is optional.',
    submit: 'Check',
  },
  confirm: {
    title: (app) => (app ? `Sign in to ${app}?` : 'Sign in on your device?'),
    consequence: (provider, app) =>
      `If you continue, ${app} gets access to your ${provider} account.`,
    service: 'Service',
    device: 'Device',
    started: 'Started',
    justNow: 'just now',
    code: 'Does your device show this code?',
    next: 'Next',
    signInAt: (host) => `sign in at ${host}`,
    warning:
      'Only continue if you started this yourself. If somebody sent you the link or the code, decline.',
    continue: 'Continue',
    decline: 'Decline',
    openInBrowser:
      'This page is open inside another app, where signing in is often refused. Please open it in your browser.',
  },
  codeIncomplete: {
    title: 'That code is incomplete',
    message: 'Please enter the eight letters that your device shows.',
  },
  codeUnknown: {
    title: 'This code is not valid',
    message: 'It may have expired or been used already. Check it, or start again on the device.',
  },
  notFound: {
    title: 'This page doesn’t exist',
    message: 'Check the address, or enter the code that your device shows.',
  },
  tooManyTries: {
    title: 'Too many attempts',
    message: (seconds) =>
      `Please wait. This page will try again automatically in ${seconds} seconds.`,
  },
  inProgress: {
    title: 'Almost done',
    message:
      'The sign-in is being completed. Look at your device, or reload this page in a moment.',
  },
  cancelledOnDevice: {
    title: 'Sign-in cancelled',
    message: 'The sign-in was cancelled on the device. You can close this tab.',
  },
  links: { privacy: 'Privacy policy', terms: 'Terms of service', support: 'Help' },
};
