import type { Messages } from './en.ts';

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
    notSignedIn: 'Votre appareil n’a pas été connecté. Vous pouvez fermer cet onglet.',
    tryAgain: 'Veuillez réessayer.',
    incomplete: 'La réponse du fournisseur était incomplète.',
    notCompleted: 'Impossible de terminer la connexion.',
    linkInvalid: (app = 'l’application') =>
      `Ce lien de connexion n’est plus valide. Veuillez recommencer depuis ${app}.`,
    linkEnded:
      'Il a expiré ou a déjà servi. Si vous venez de vous connecter, votre appareil est peut-être déjà connecté.',
    otherBrowser:
      'Le bouton «\u00a0Continuer\u00a0» a été utilisé dans un autre navigateur, ou celui où vous êtes bloque les cookies. Terminez la connexion dans l’autre, ou autorisez les cookies et ouvrez ici le lien de votre appareil.',
    providerFault: (provider) => `${provider} a rencontré un problème.`,
    refused: (provider) =>
      `${provider} a refusé la connexion. Elle a peut-être pris trop de temps.`,
    tellOperator: 'Si cela se reproduit, indiquez la référence au responsable de ce service.',
    originHidden:
      'Un proxy sur le trajet masque la page où vous avez appuyé sur le bouton\u00a0: ce service ne peut pas continuer. Prévenez son exploitant.',
    ownFault: 'Le problème vient de ce service. Rechargez cette page dans un instant.',
    startAgain: (device) =>
      device ? `Recommencez sur l’appareil ${device}.` : 'Recommencez sur votre appareil.',
    reference: 'Référence',
  },
  home: {
    title: (app) => (app ? `Se connecter à ${app}` : 'Se connecter avec un code'),
    about: (app = 'une application') =>
      `Utilisez votre téléphone pour vous connecter à ${app} sur un téléviseur ou un autre appareil. Vous vous connectez directement sur le site du fournisseur${BEFORE_MARK}: votre mot de passe ne passe jamais par ici.`,
    data: (app) =>
      `${app} n’a accès à votre compte que si vous l’acceptez. Ce service transmet cet accès à votre appareil et n’en conserve rien.`,
    providers: 'Fournisseurs',
  },
  codeForm: {
    title: 'Saisissez le code',
    label: 'Code affiché sur votre appareil',
    hint: 'Huit lettres, majuscules ou minuscules. Le tiret est facultatif.',
    submit: 'Vérifier',
  },
  confirm: {
    title: (app) =>
      app
        ? `Se connecter à ${app}${BEFORE_MARK}?`
        : `Se connecter sur votre appareil${BEFORE_MARK}?`,
    consequence: (provider, app = 'votre appareil') =>
      `Si vous continuez, ${app} aura accès à votre compte ${provider}.`,
    service: 'Fournisseur',
    device: 'Appareil',
    started: 'Demandé',
    justNow: 'à l’instant',
    code: `Votre appareil affiche-t-il ce code${BEFORE_MARK}?`,
    next: 'Ensuite',
    signInAt: (host) => `connexion sur ${host}`,
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
    title: 'Ce code n’est pas valide',
    message: 'Il a peut-être expiré ou déjà servi. Vérifiez-le, ou recommencez sur l’appareil.',
  },
  notFound: {
    title: 'Cette page n’existe pas',
    message: 'Vérifiez l’adresse, ou saisissez le code affiché sur votre appareil.',
  },
  tooManyTries: {
    title: 'Trop de tentatives',
    message: (seconds) =>
      `Veuillez patienter. Cette page réessaiera automatiquement dans ${seconds} secondes.`,
  },
  links: {
    privacy: 'Politique de confidentialité',
    terms: 'Conditions d’utilisation',
    support: 'Aide',
  },
  inProgress: {
    title: 'Presque terminé',
    message:
      'La connexion est en cours de finalisation. Regardez votre appareil, ou rechargez cette page dans un instant.',
  },
  cancelledOnDevice: {
    title: 'Connexion annulée',
    message: 'La connexion a été annulée sur l’appareil. Vous pouvez fermer cet onglet.',
  },
};
