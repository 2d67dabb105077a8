import type { Messages } from './messages.ts';

export const en: Messages = {
  signedIn: {
    title: 'Signed in',
    heading: "You're signed in",
    message: (app = 'the app') => `You can close this tab and return to ${app}.`,
  },
  failed: {
    title: 'Sign-in failed',
    cancelled: 'Sign-in was cancelled.',
    tryAgain: 'Sign-in failed. Please try again.',
    incomplete: 'Sign-in response was incomplete. Please try again.',
    notCompleted: "Couldn't complete sign-in. Please try again.",
    linkInvalid: (app = 'the app') =>
      `This sign-in link is no longer valid. Please start again from ${app}.`,
  },
  home: {
    title: (app) => (app ? `Sign in to ${app}` : 'Sign in with a code'),
    about: (app = 'an app') =>
      `With this service you sign in on your phone to ${app} on a television or another device. You do so at the provider itself: your password never passes through here.`,
  },
  codeForm: {
    title: 'Enter the code',
    label: 'Code shown on your device',
    hint: 'Eight letters; spaces and dashes do not matter.',
    submit: 'Next',
  },
  confirm: {
    title: (app) => (app ? `Sign in to ${app}?` : 'Sign in on your device?'),
    consequence: (provider, app = 'the app') =>
      `If you continue, ${app} gets access to your ${provider} account.`,
    device: 'Device',
    started: 'Started',
    code: 'Code on the device',
    warning:
      'Only continue if you started this yourself. If somebody sent you the link or the code, decline.',
    continue: 'Continue',
    decline: 'Decline',
    openInBrowser:
      'This page is open inside another app, where signing in is often refused. Please open it in your browser.',
  },
  codeIncomplete: {
    title: 'That is not a whole code',
    message: 'Please enter the eight letters that your device shows.',
  },
  codeUnknown: {
    title: 'This code is not valid',
    message: 'It may have expired or been used already. Check it, or start again on the device.',
  },
  tooManyTries: {
    title: 'Too many tries',
    message: 'Please wait a little, then reload this page.',
  },
  declined: {
    title: 'Sign-in declined',
    message: 'The device was not signed in. You can close this tab.',
  },
  cancelledOnDevice: {
    title: 'Sign-in cancelled',
    message: 'The sign-in was cancelled on the device. You can close this tab.',
  },
};
