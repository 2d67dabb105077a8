import type { Messages } from './en.ts';

export const it: Messages = {
  signedIn: {
    title: 'Accesso effettuato',
    heading: 'Hai effettuato l’accesso',
    message: (app) => `Puoi chiudere questa scheda e tornare ${app ? `a ${app}` : 'all’app'}.`,
  },
  failed: {
    title: 'Accesso non riuscito',
    cancelled: 'L’accesso è stato annullato.',
    notSignedIn: 'Il tuo dispositivo non è stato collegato. Puoi chiudere questa scheda.',
    tryAgain: 'Riprova.',
    incomplete: 'La risposta del provider era incompleta.',
    notCompleted: 'Non è stato possibile completare l’accesso.',
    linkInvalid: (app) =>
      `Questo link di accesso non è più valido. Ricomincia ${app ? `da ${app}` : 'dall’app'}.`,
    linkEnded:
      'È scaduto o è già stato usato. Se hai appena effettuato l’accesso, il dispositivo potrebbe essere già collegato.',
    otherBrowser:
      '«Continua» è stato premuto in un altro browser, oppure questo blocca i cookie. Completa lì l’accesso, oppure consenti i cookie e apri qui il link del tuo dispositivo.',
    providerFault: (provider) => `${provider} ha avuto un problema.`,
    refused: (provider) => `${provider} ha rifiutato l’accesso. Forse è passato troppo tempo.`,
    tellOperator: 'Se succede di nuovo, comunica il riferimento a chi gestisce questo servizio.',
    originHidden:
      'Un proxy lungo il percorso nasconde su quale pagina hai premuto il pulsante, quindi questo servizio non può continuare. Avvisa il gestore.',
    ownFault: 'Il problema è di questo servizio. Ricarica questa pagina tra un momento.',
    startAgain: (device) =>
      device ? `Ricomincia sul dispositivo ${device}.` : 'Ricomincia sul tuo dispositivo.',
    reference: 'Riferimento',
  },
  home: {
    title: (app) => (app ? `Accedi a ${app}` : 'Accedi con un codice'),
    about: (app) =>
      `Usa il telefono per accedere ${app ? `a ${app}` : 'a un’app'} su un televisore o un altro dispositivo. Accedi direttamente sul sito del provider: la tua password non passa mai da qui.`,
    data: (app) =>
      `${app} avrà accesso al tuo account solo se acconsenti. Questo servizio trasmette l’accesso al tuo dispositivo e non ne conserva nulla.`,
    providers: 'Servizi',
  },
  codeForm: {
    title: 'Inserisci il codice',
    label: 'Codice mostrato dal dispositivo',
    hint: 'Otto lettere, maiuscole o minuscole. Il trattino è facoltativo.',
    submit: 'Verifica',
  },
  confirm: {
    title: (app) => (app ? `Accedere a ${app}?` : 'Accedere sul tuo dispositivo?'),
    consequence: (provider, app = 'il tuo dispositivo') =>
      `Se continui, ${app} avrà accesso al tuo account ${provider}.`,
    service: 'Servizio',
    device: 'Dispositivo',
    started: 'Richiesto',
    justNow: 'proprio ora',
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
    message: (seconds) =>
      `Attendi. Questa pagina riproverà automaticamente tra ${seconds} secondi.`,
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
