import type { Messages } from './messages.ts';

export const ptBr: Messages = {
  signedIn: {
    title: 'Login concluído',
    heading: 'Você fez login',
    message: (app) =>
      `Você pode fechar esta aba e voltar ${app ? `para ${app}` : 'ao aplicativo'}.`,
  },
  failed: {
    title: 'Falha no login',
    cancelled: 'O login foi cancelado.',
    tryAgain: 'O login falhou. Tente novamente.',
    incomplete: 'A resposta do provedor estava incompleta. Tente novamente.',
    notCompleted: 'Não foi possível concluir o login. Tente novamente.',
    linkInvalid: (app) =>
      `Este link de login não é mais válido. Comece de novo ${app ? `em ${app}` : 'pelo aplicativo'}.`,
  },
  home: {
    title: (app) => (app ? `Fazer login em ${app}` : 'Fazer login com um código'),
    about: (app = 'um aplicativo') =>
      `Com este serviço você faz login pelo celular em ${app} de uma TV ou de outro dispositivo. O login acontece na página do próprio provedor: sua senha nunca passa por aqui.`,
  },
  codeForm: {
    title: 'Digite o código',
    label: 'Código mostrado no seu dispositivo',
    hint: 'Oito letras; espaços e traços não importam.',
    submit: 'Avançar',
  },
  confirm: {
    title: (app) => (app ? `Fazer login em ${app}?` : 'Fazer login no seu dispositivo?'),
    consequence: (provider, app = 'o aplicativo') =>
      `Se você continuar, ${app} terá acesso à sua conta ${provider}.`,
    device: 'Dispositivo',
    started: 'Início',
    code: 'Código no dispositivo',
    warning:
      'Só continue se foi você quem começou. Se alguém enviou o link ou o código para você, recuse.',
    continue: 'Continuar',
    decline: 'Recusar',
    openInBrowser:
      'Esta página está aberta dentro de outro aplicativo, onde o login costuma ser recusado. Abra-a no seu navegador.',
  },
  codeIncomplete: {
    title: 'O código não está completo',
    message: 'Digite as oito letras mostradas no seu dispositivo.',
  },
  codeUnknown: {
    title: 'Este código não é válido',
    message:
      'Talvez ele tenha expirado ou já tenha sido usado. Confira o código ou comece de novo no dispositivo.',
  },
  tooManyTries: {
    title: 'Tentativas demais',
    message: 'Espere um pouco e recarregue esta página.',
  },
  declined: {
    title: 'Login recusado',
    message: 'O login não foi feito no dispositivo. Você pode fechar esta aba.',
  },
  cancelledOnDevice: {
    title: 'Login cancelado',
    message: 'O login foi cancelado no dispositivo. Você pode fechar esta aba.',
  },
};
