import type { Messages } from './en.ts';

export const es: Messages = {
  signedIn: {
    title: 'Sesión iniciada',
    heading: 'Has iniciado sesión',
    message: (app = 'la aplicación') => `Puedes cerrar esta pestaña y volver a ${app}.`,
  },
  failed: {
    title: 'Error al iniciar sesión',
    cancelled: 'Se ha cancelado el inicio de sesión.',
    notSignedIn: 'No se ha iniciado sesión en tu dispositivo. Puedes cerrar esta pestaña.',
    tryAgain: 'Vuelve a intentarlo.',
    incomplete: 'La respuesta del proveedor estaba incompleta.',
    notCompleted: 'No se pudo completar el inicio de sesión.',
    linkInvalid: (app = 'la aplicación') =>
      `Este enlace para iniciar sesión ya no es válido. Vuelve a empezar desde ${app}.`,
    linkEnded:
      'Ha caducado o ya se ha usado. Si acabas de iniciar sesión, puede que tu dispositivo ya tenga la sesión iniciada.',
    otherBrowser:
      'Se pulsó «Continuar» en otro navegador, o este bloquea las cookies. Termina allí, o permite las cookies y abre aquí el enlace de tu dispositivo.',
    providerFault: (provider) => `${provider} no ha respondido correctamente.`,
    refused: (provider) =>
      `${provider} ha rechazado el inicio de sesión. Puede que haya tardado demasiado.`,
    tellOperator: 'Si vuelve a ocurrir, indica la referencia al responsable de este servicio.',
    originHidden:
      'Un proxy intermedio oculta en qué página pulsaste el botón, por lo que este servicio no puede continuar. Avisa a su operador.',
    ownFault: 'El fallo es de este servicio. Vuelve a cargar esta página dentro de un momento.',
    startAgain: (device) =>
      device
        ? `Vuelve a empezar en el dispositivo ${device}.`
        : 'Vuelve a empezar en tu dispositivo.',
    reference: 'Referencia',
  },
  home: {
    title: (app) => (app ? `Iniciar sesión en ${app}` : 'Iniciar sesión con un código'),
    about: (app = 'una aplicación') =>
      `Usa el teléfono para iniciar sesión en ${app} en un televisor u otro dispositivo. Inicias sesión directamente en el sitio del proveedor: tu contraseña nunca pasa por aquí.`,
    data: (app) =>
      `${app} solo tendrá acceso a tu cuenta si lo aceptas. Este servicio transmite ese acceso a tu dispositivo y no conserva nada.`,
    providers: 'Servicios',
  },
  codeForm: {
    title: 'Introduce el código',
    label: 'Código que muestra tu dispositivo',
    hint: 'Ocho letras, mayúsculas o minúsculas. El guion es opcional.',
    submit: 'Comprobar',
  },
  confirm: {
    title: (app) => (app ? `¿Iniciar sesión en ${app}?` : '¿Iniciar sesión en tu dispositivo?'),
    consequence: (provider, app = 'tu dispositivo') =>
      `Si continúas, ${app} tendrá acceso a tu cuenta de ${provider}.`,
    service: 'Servicio',
    device: 'Dispositivo',
    started: 'Iniciado',
    justNow: 'ahora mismo',
    code: '¿Tu dispositivo muestra este código?',
    next: 'Después',
    signInAt: (host) => `iniciar sesión en ${host}`,
    warning:
      'Continúa solo si lo has empezado tú. Si alguien te ha enviado el enlace o el código, rechaza la solicitud.',
    continue: 'Continuar',
    decline: 'Rechazar',
    openInBrowser:
      'Esta página está abierta dentro de otra aplicación, donde a menudo no se permite iniciar sesión. Ábrela en tu navegador.',
  },
  codeIncomplete: {
    title: 'El código no está completo',
    message: 'Introduce las ocho letras que muestra tu dispositivo.',
  },
  codeUnknown: {
    title: 'Este código no es válido',
    message:
      'Puede que haya caducado o que ya se haya usado. Compruébalo o vuelve a empezar en el dispositivo.',
  },
  notFound: {
    title: 'Esta página no existe',
    message: 'Comprueba la dirección o introduce el código que muestra tu dispositivo.',
  },
  tooManyTries: {
    title: 'Demasiados intentos',
    message: (seconds) =>
      `Espera un momento. Esta página volverá a intentarlo automáticamente dentro de ${seconds} segundos.`,
  },
  inProgress: {
    title: 'Casi listo',
    message:
      'El inicio de sesión se está completando. Mira tu dispositivo o vuelve a cargar esta página dentro de un momento.',
  },
  cancelledOnDevice: {
    title: 'Inicio de sesión cancelado',
    message:
      'Se ha cancelado el inicio de sesión desde el dispositivo. Puedes cerrar esta pestaña.',
  },
  links: { privacy: 'Política de privacidad', terms: 'Condiciones de uso', support: 'Ayuda' },
};
