import type { Messages } from './messages.ts';

export const it: Messages = {
  signedIn: {
    title: 'Accesso effettuato',
    heading: 'Hai effettuato l’accesso',
    message: (app) => `Puoi chiudere questa scheda e tornare ${app ? `a ${app}` : 'all’app'}.`,
  },
  failed: {
    title: 'Accesso non riuscito',
    cancelled: 'L’accesso è stato annullato.',
    notSignedIn: 'L’accesso sul tuo dispositivo non è avvenuto. Puoi chiudere questa scheda.',
    tryAgain: 'L’accesso non è riuscito.',
    incomplete: 'La risposta del provider era incompleta.',
    notCompleted: 'Non è stato possibile completare l’accesso.',
    linkInvalid: (app) =>
      `Questo link di accesso non è più valido. Ricomincia ${app ? `da ${app}` : 'dall’app'}.`,
    linkEnded:
      'È scaduto o è già stato usato. Se hai appena effettuato l’accesso, forse l’accesso sul dispositivo è già riuscito.',
    otherBrowser:
      '«Continua» è stato premuto in un altro browser. Completa lì l’accesso, oppure apri in questo browser il link del tuo dispositivo.',
    providerFault: (provider) => `${provider} non ha risposto come previsto.`,
    refused: (provider) => `${provider} ha rifiutato l’accesso. Forse è passato troppo tempo.`,
    tellOperator: 'Se succede di nuovo, comunica il riferimento a chi gestisce questo servizio.',
    ownFault: 'Il problema è di questo servizio. Ricarica questa pagina tra un momento.',
    startAgain: (device) =>
      device ? `Ricomincia sul dispositivo ${device}.` : 'Ricomincia sul tuo dispositivo.',
    reference: 'Riferimento',
  },
  home: {
    title: (app) => (app ? `Accedi a ${app}` : 'Accedi con un codice'),
    about: (app) =>
      `Con questo servizio usi il telefono per accedere ${app ? `a ${app}` : 'a un’app'} su un televisore o un altro dispositivo. L’accesso avviene sulla pagina del provider stesso: la tua password non passa mai di qui.`,
    data: (app) =>
      `${app} avrà accesso al tuo account solo se acconsenti. Questo servizio trasmette l’accesso al tuo dispositivo e non ne conserva nulla.`,
    providers: 'Servizi',
  },
  codeForm: {
    title: 'Inserisci il codice',
    label: 'Codice mostrato dal dispositivo',
    hint: 'Otto lettere, maiuscole o minuscole. Il trattino è facoltativo.',
    submit: 'Avanti',
  },
  confirm: {
    title: (app) => (app ? `Accedere a ${app}?` : 'Accedere sul tuo dispositivo?'),
    consequence: (provider, app) => `Se continui, ${app} avrà accesso al tuo account ${provider}.`,
    service: 'Servizio',
    device: 'Dispositivo',
    started: 'Richiesto',
    justNow: 'poco fa',
    code: 'Il dispositivo mostra questo codice?',
    next: 'Poi',
    signInAt: (host) => `accesso su ${host}`,
    warning:
      'Continua solo se hai iniziato tu. Se qualcuno ti ha mandato il link o il codice, rifiuta.',
    continue: 'Continua',
    decline: 'Rifiuta',
    openInBrowser:
      'Questa pagina è aperta dentro un’altra app, dove spesso l’accesso viene rifiutato. Aprila nel tuo browser.',
  },
  codeIncomplete: {
    title: 'Il codice non è completo',
    message: 'Inserisci le otto lettere mostrate dal dispositivo.',
  },
  codeUnknown: {
    title: 'Questo codice non è valido',
    message: 'Forse è scaduto o è già stato usato. Controllalo, oppure ricomincia sul dispositivo.',
  },
  notFound: {
    title: 'Questa pagina non esiste',
    message: 'Controlla l’indirizzo, oppure inserisci il codice mostrato dal dispositivo.',
  },
  tooManyTries: {
    title: 'Troppi tentativi',
    message: (seconds) => `Aspetta. Questa pagina riprova da sola tra ${seconds} secondi.`,
  },
  links: {
    privacy: 'Informativa sulla privacy',
    terms: 'Termini di servizio',
    support: 'Assistenza',
  },
  inProgress: {
    title: 'Quasi fatto',
    message:
      'L’accesso sta per essere completato. Guarda il dispositivo, oppure ricarica questa pagina tra un momento.',
  },
  cancelledOnDevice: {
    title: 'Accesso annullato',
    message: 'L’accesso è stato annullato sul dispositivo. Puoi chiudere questa scheda.',
  },
};
