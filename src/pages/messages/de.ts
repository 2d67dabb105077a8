import type { Messages } from './en.ts';

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
    notSignedIn: 'Ihr Gerät wurde nicht angemeldet. Sie können diesen Tab schließen.',
    tryAgain: 'Bitte versuchen Sie es erneut.',
    incomplete: 'Die Antwort des Anbieters war unvollständig.',
    notCompleted: 'Die Anmeldung konnte nicht abgeschlossen werden.',
    linkInvalid: (app = 'der App') =>
      `Dieser Anmeldelink ist nicht mehr gültig. Bitte beginnen Sie in ${app} neu.`,
    linkEnded:
      'Er ist abgelaufen oder wurde schon benutzt. Wenn Sie sich gerade angemeldet haben, ist Ihr Gerät vielleicht schon angemeldet.',
    otherBrowser:
      '„Fortfahren“ wurde in einem anderen Browser gewählt, oder dieser blockiert Cookies. Schließen Sie die Anmeldung dort ab, oder lassen Sie Cookies zu und öffnen Sie hier den Link von Ihrem Gerät.',
    providerFault: (provider) => `Bei ${provider} ist ein Problem aufgetreten.`,
    refused: (provider) =>
      `${provider} hat die Anmeldung abgelehnt. Vielleicht hat sie zu lange gedauert.`,
    tellOperator:
      'Wenn das wieder geschieht, nennen Sie dem Betreiber dieses Dienstes die Referenz.',
    originHidden:
      'Ein Proxy auf dem Weg verbirgt, auf welcher Webseite Sie die Schaltfläche gedrückt haben. Deshalb kann dieser Dienst nicht fortfahren. Bitte sagen Sie es seinem Betreiber.',
    ownFault: 'Der Fehler liegt bei diesem Dienst. Laden Sie diese Seite in einem Moment neu.',
    startAgain: (device) =>
      device ? `Beginnen Sie auf dem Gerät ${device} neu.` : 'Beginnen Sie auf Ihrem Gerät neu.',
    reference: 'Referenz',
  },
  home: {
    title: (app) => (app ? `Bei ${app} anmelden` : 'Mit einem Code anmelden'),
    about: (app = 'einer App') =>
      `Mit diesem Dienst melden Sie sich über Ihr Telefon bei ${app} an, auf einem Fernseher oder einem anderen Gerät. Die Anmeldung läuft direkt beim Anbieter: Ihr Passwort gelangt nie hierher.`,
    data: (app) =>
      `${app} erhält nur dann Zugriff auf Ihr Konto, wenn Sie zustimmen. Dieser Dienst gibt den Zugriff an Ihr Gerät weiter und behält davon nichts.`,
    providers: 'Dienste',
  },
  codeForm: {
    title: 'Code eingeben',
    label: 'Code, den Ihr Gerät anzeigt',
    hint: 'Acht Buchstaben, groß oder klein. Der Bindestrich kann entfallen.',
    submit: 'Prüfen',
  },
  confirm: {
    title: (app) => (app ? `Bei ${app} anmelden?` : 'Auf Ihrem Gerät anmelden?'),
    consequence: (provider, app = 'Ihr Gerät') =>
      `Wenn Sie fortfahren, erhält ${app} Zugriff auf Ihr Konto bei ${provider}.`,
    service: 'Dienst',
    device: 'Gerät',
    started: 'Gestartet',
    justNow: 'gerade eben',
    code: 'Zeigt Ihr Gerät diesen Code?',
    next: 'Danach',
    signInAt: (host) => `Anmeldung bei ${host}`,
    warning:
      'Fahren Sie nur fort, wenn Sie die Anmeldung selbst gestartet haben. Hat Ihnen jemand den Link oder den Code geschickt, lehnen Sie ab.',
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
      'Vielleicht ist er abgelaufen oder wurde schon benutzt. Prüfen Sie ihn, oder beginnen Sie auf dem Gerät neu.',
  },
  notFound: {
    title: 'Diese Seite gibt es nicht',
    message: 'Prüfen Sie die Adresse, oder geben Sie den Code ein, den Ihr Gerät anzeigt.',
  },
  tooManyTries: {
    title: 'Zu viele Versuche',
    message: (seconds) =>
      `Bitte warten Sie. Diese Seite versucht es in ${seconds} Sekunden automatisch erneut.`,
  },
  inProgress: {
    title: 'Fast fertig',
    message:
      'Die Anmeldung wird gerade abgeschlossen. Sehen Sie auf Ihr Gerät, oder laden Sie diese Seite in einem Moment neu.',
  },
  cancelledOnDevice: {
    title: 'Anmeldung abgebrochen',
    message: 'Die Anmeldung wurde auf dem Gerät abgebrochen. Sie können diesen Tab schließen.',
  },
  links: { privacy: 'Datenschutz', terms: 'Nutzungsbedingungen', support: 'Hilfe' },
};
