import type { Messages } from './messages.ts';

/** French puts a space before `:`, `;` and `?`, at which no line may break. */
const BEFORE_MARK = '\u00a0';

export const fr: Messages = {
  signedIn: {
    title: 'Connexion réussie',
    heading: 'La connexion a réussi',
    message: (app = 'l’application') => `Vous pouvez fermer cet onglet et revenir à ${app}.`,
  },
  failed: {
    title: 'Échec de la connexion',
    cancelled: 'La connexion a été annulée.',
    tryAgain: 'La connexion a échoué. Veuillez réessayer.',
    incomplete: 'La réponse du fournisseur était incomplète. Veuillez réessayer.',
    notCompleted: 'Impossible de terminer la connexion. Veuillez réessayer.',
    linkInvalid: (app = 'l’application') =>
      `Ce lien de connexion n’est plus valable. Veuillez recommencer depuis ${app}.`,
  },
  home: {
    title: (app) => (app ? `Se connecter à ${app}` : 'Se connecter avec un code'),
    about: (app = 'une application') =>
      `Avec ce service, vous vous connectez depuis votre téléphone à ${app} sur un téléviseur ou un autre appareil. Cela se passe chez le fournisseur lui-même${BEFORE_MARK}: votre mot de passe ne passe jamais par ici.`,
  },
  codeForm: {
    title: 'Saisissez le code',
    label: 'Code affiché sur votre appareil',
    hint: `Huit lettres${BEFORE_MARK}; les espaces et les tirets ne comptent pas.`,
    submit: 'Suivant',
  },
  confirm: {
    title: (app) =>
      app
        ? `Se connecter à ${app}${BEFORE_MARK}?`
        : `Se connecter sur votre appareil${BEFORE_MARK}?`,
    consequence: (provider, app = 'l’application') =>
      `Si vous continuez, ${app} aura accès à votre compte ${provider}.`,
    device: 'Appareil',
    started: 'Début',
    code: 'Code sur l’appareil',
    warning:
      'Ne continuez que si la demande vient de vous. Si quelqu’un vous a envoyé le lien ou le code, refusez.',
    continue: 'Continuer',
    decline: 'Refuser',
    openInBrowser:
      'Cette page est ouverte dans une autre application, où la connexion est souvent refusée. Veuillez l’ouvrir dans votre navigateur.',
  },
  codeIncomplete: {
    title: 'Le code est incomplet',
    message: 'Veuillez saisir les huit lettres affichées sur votre appareil.',
  },
  codeUnknown: {
    title: 'Ce code n’est pas valable',
    message:
      'Il a peut-être expiré ou déjà servi. Vérifiez le code, ou recommencez sur l’appareil.',
  },
  tooManyTries: {
    title: 'Trop de tentatives',
    message: 'Veuillez patienter un peu, puis recharger cette page.',
  },
  declined: {
    title: 'Connexion refusée',
    message: 'L’appareil n’a pas été connecté. Vous pouvez fermer cet onglet.',
  },
  cancelledOnDevice: {
    title: 'Connexion annulée',
    message: 'La connexion a été annulée sur l’appareil. Vous pouvez fermer cet onglet.',
  },
};
