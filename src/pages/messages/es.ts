import type { Messages } from './messages.ts';

export const es: Messages = {
  signedIn: {
    title: 'Sesión iniciada',
    heading: 'Has iniciado sesión',
    message: (app = 'la aplicación') => `Puedes cerrar esta pestaña y volver a ${app}.`,
  },
  failed: {
    title: 'Error al iniciar sesión',
    cancelled: 'Se canceló el inicio de sesión.',
    tryAgain: 'No se pudo iniciar sesión. Inténtalo de nuevo.',
    incomplete: 'La respuesta del proveedor estaba incompleta. Inténtalo de nuevo.',
    notCompleted: 'No se pudo completar el inicio de sesión. Inténtalo de nuevo.',
    linkInvalid: (app = 'la aplicación') =>
      `Este enlace para iniciar sesión ya no es válido. Vuelve a empezar desde ${app}.`,
  },
  home: {
    title: (app) => (app ? `Iniciar sesión en ${app}` : 'Iniciar sesión con un código'),
    about: (app = 'una aplicación') =>
      `Con este servicio inicias sesión desde el teléfono en ${app} de un televisor u otro dispositivo. Lo haces en la página del propio proveedor: tu contraseña nunca pasa por aquí.`,
  },
  codeForm: {
    title: 'Introduce el código',
    label: 'Código que muestra tu dispositivo',
    hint: 'Ocho letras; los espacios y los guiones no importan.',
    submit: 'Siguiente',
  },
  confirm: {
    title: (app) => (app ? `¿Iniciar sesión en ${app}?` : '¿Iniciar sesión en tu dispositivo?'),
    consequence: (provider, app = 'la aplicación') =>
      `Si continúas, ${app} tendrá acceso a tu cuenta de ${provider}.`,
    device: 'Dispositivo',
    started: 'Inicio',
    code: 'Código del dispositivo',
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
  tooManyTries: {
    title: 'Demasiados intentos',
    message: 'Espera un poco y vuelve a cargar esta página.',
  },
  declined: {
    title: 'Inicio de sesión rechazado',
    message: 'No se ha iniciado sesión en el dispositivo. Puedes cerrar esta pestaña.',
  },
  cancelledOnDevice: {
    title: 'Inicio de sesión cancelado',
    message: 'El inicio de sesión se canceló desde el dispositivo. Puedes cerrar esta pestaña.',
  },
};
