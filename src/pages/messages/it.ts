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
    tryAgain: 'L’accesso non è riuscito. Riprova.',
    incomplete: 'La risposta del provider era incompleta. Riprova.',
    notCompleted: 'Non è stato possibile completare l’accesso. Riprova.',
    linkInvalid: (app) =>
      `Questo link di accesso non è più valido. Ricomincia ${app ? `da ${app}` : 'dall’app'}.`,
  },
  home: {
    title: (app) => (app ? `Accedi a ${app}` : 'Accedi con un codice'),
    about: (app) =>
      `Con questo servizio accedi dal telefono ${app ? `a ${app}` : 'a un’app'} su un televisore o un altro dispositivo. L’accesso avviene sulla pagina del provider stesso: la tua password non passa mai di qui.`,
  },
  codeForm: {
    title: 'Inserisci il codice',
    label: 'Codice mostrato dal dispositivo',
    hint: 'Otto lettere; spazi e trattini non contano.',
    submit: 'Avanti',
  },
  confirm: {
    title: (app) => (app ? `Accedere a ${app}?` : 'Accedere sul tuo dispositivo?'),
    consequence: (provider, app = 'l’app') =>
      `Se continui, ${app} avrà accesso al tuo account ${provider}.`,
    device: 'Dispositivo',
    started: 'Inizio',
    code: 'Codice sul dispositivo',
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
  tooManyTries: {
    title: 'Troppi tentativi',
    message: 'Aspetta un po’, poi ricarica questa pagina.',
  },
  declined: {
    title: 'Accesso rifiutato',
    message: 'Sul dispositivo non è stato effettuato l’accesso. Puoi chiudere questa scheda.',
  },
  cancelledOnDevice: {
    title: 'Accesso annullato',
    message: 'L’accesso è stato annullato sul dispositivo. Puoi chiudere questa scheda.',
  },
};
