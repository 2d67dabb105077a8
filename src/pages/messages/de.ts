import type { Messages } from './messages.ts';

export const de: Messages = {
  signedIn: {
    title: 'Angemeldet',
    heading: 'Sie sind angemeldet',
    message: (app) =>
      `Sie können diesen Tab schließen und ${app ? `zu ${app}` : 'zur App'} zurückkehren.`,
  },
  failed: {
    title: 'Anmeldung fehlgeschlagen',
    cancelled: 'Die Anmeldung wurde abgebrochen.',
    tryAgain: 'Die Anmeldung ist fehlgeschlagen. Bitte versuchen Sie es noch einmal.',
    incomplete: 'Die Antwort des Anbieters war unvollständig. Bitte versuchen Sie es noch einmal.',
    notCompleted:
      'Die Anmeldung konnte nicht abgeschlossen werden. Bitte versuchen Sie es noch einmal.',
    linkInvalid: (app = 'der App') =>
      `Dieser Anmeldelink ist nicht mehr gültig. Bitte beginnen Sie in ${app} von vorn.`,
  },
  home: {
    title: (app) => (app ? `Bei ${app} anmelden` : 'Mit einem Code anmelden'),
    about: (app = 'einer App') =>
      `Mit diesem Dienst melden Sie sich am Telefon bei ${app} auf einem Fernseher oder einem anderen Gerät an. Das geschieht beim Anbieter selbst: Ihr Passwort kommt nie hierher.`,
  },
  codeForm: {
    title: 'Code eingeben',
    label: 'Code, den Ihr Gerät anzeigt',
    hint: 'Acht Buchstaben; Leerzeichen und Striche sind gleichgültig.',
    submit: 'Weiter',
  },
  confirm: {
    title: (app) => (app ? `Bei ${app} anmelden?` : 'Auf Ihrem Gerät anmelden?'),
    consequence: (provider, app = 'die App') =>
      `Wenn Sie fortfahren, erhält ${app} Zugriff auf Ihr Konto bei ${provider}.`,
    device: 'Gerät',
    started: 'Begonnen',
    code: 'Code auf dem Gerät',
    warning:
      'Fahren Sie nur fort, wenn Sie das selbst begonnen haben. Hat Ihnen jemand den Link oder den Code geschickt, lehnen Sie ab.',
    continue: 'Fortfahren',
    decline: 'Ablehnen',
    openInBrowser:
      'Diese Seite ist in einer anderen App geöffnet, wo die Anmeldung oft verweigert wird. Bitte öffnen Sie sie in Ihrem Browser.',
  },
  codeIncomplete: {
    title: 'Der Code ist nicht vollständig',
    message: 'Bitte geben Sie die acht Buchstaben ein, die Ihr Gerät anzeigt.',
  },
  codeUnknown: {
    title: 'Dieser Code ist nicht gültig',
    message:
      'Vielleicht ist er abgelaufen oder schon benutzt. Prüfen Sie ihn, oder beginnen Sie auf dem Gerät von vorn.',
  },
  tooManyTries: {
    title: 'Zu viele Versuche',
    message: 'Bitte warten Sie ein wenig, und laden Sie diese Seite dann neu.',
  },
  declined: {
    title: 'Anmeldung abgelehnt',
    message: 'Das Gerät wurde nicht angemeldet. Sie können diesen Tab schließen.',
  },
  cancelledOnDevice: {
    title: 'Anmeldung abgebrochen',
    message: 'Die Anmeldung wurde auf dem Gerät abgebrochen. Sie können diesen Tab schließen.',
  },
};
