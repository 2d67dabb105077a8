import type { Messages } from './en.ts';

export const ptBr: Messages = {
  signedIn: {
    title: 'Login concluído',
    heading: 'Login concluído',
    message: (app) =>
      `Você pode fechar esta aba e voltar ${app ? `para ${app}` : 'ao aplicativo'}.`,
  },
  failed: {
    title: 'Falha no login',
    cancelled: 'O login foi cancelado.',
    notSignedIn: 'O login não foi feito no seu dispositivo. Você pode fechar esta aba.',
    tryAgain: 'Tente novamente.',
    incomplete: 'A resposta do provedor estava incompleta.',
    notCompleted: 'Não foi possível concluir o login.',
    linkInvalid: (app) =>
      `Este link de login não é mais válido. Comece de novo ${app ? `em ${app}` : 'pelo aplicativo'}.`,
    linkEnded:
      'Ele expirou ou já foi usado. Se você acabou de fazer login, talvez o dispositivo já esteja conectado.',
    otherBrowser:
      'O botão “Continuar” foi usado em outro navegador, ou este bloqueia cookies. Conclua o login por lá, ou permita os cookies e abra aqui o link do seu dispositivo.',
    providerFault: (provider) => `Houve um problema em ${provider}.`,
    refused: (provider) => `${provider} recusou o login. Talvez tenha demorado demais.`,
    tellOperator: 'Se acontecer de novo, informe a referência ao responsável por este serviço.',
    originHidden:
      'Um proxy no caminho oculta em que página você pressionou o botão, por isso este serviço não pode continuar. Avise o operador.',
    ownFault: 'O problema é deste serviço. Recarregue esta página daqui a pouco.',
    startAgain: (device) =>
      device ? `Comece de novo no dispositivo ${device}.` : 'Comece de novo no seu dispositivo.',
    reference: 'Referência',
  },
  home: {
    title: (app) => (app ? `Fazer login em ${app}` : 'Fazer login com um código'),
    about: (app = 'um aplicativo') =>
      `Use o celular para fazer login em ${app} em uma TV ou outro dispositivo. O login é feito diretamente no site do provedor: sua senha nunca passa por aqui.`,
    data: (app) =>
      `${app} só terá acesso à sua conta se você concordar. Este serviço repassa esse acesso ao seu dispositivo e não guarda nada dele.`,
    providers: 'Serviços',
  },
  codeForm: {
    title: 'Digite o código',
    label: 'Código mostrado no seu dispositivo',
    hint: 'Oito letras, maiúsculas ou minúsculas. O hífen é opcional.',
    submit: 'Verificar',
  },
  confirm: {
    title: (app) => (app ? `Fazer login em ${app}?` : 'Fazer login no seu dispositivo?'),
    consequence: (provider, app = 'seu dispositivo') =>
      `Se você continuar, ${app} terá acesso à sua conta ${provider}.`,
    service: 'Serviço',
    device: 'Dispositivo',
    started: 'Iniciado',
    justNow: 'agora mesmo',
    code: 'Seu dispositivo mostra este código?',
    next: 'Depois',
    signInAt: (host) => `login em ${host}`,
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
  notFound: {
    title: 'Esta página não existe',
    message: 'Confira o endereço ou digite o código mostrado no seu dispositivo.',
  },
  tooManyTries: {
    title: 'Muitas tentativas',
    message: (seconds) =>
      `Aguarde. Esta página tentará de novo automaticamente em ${seconds} segundos.`,
  },
  inProgress: {
    title: 'Quase pronto',
    message:
      'O login está sendo concluído. Olhe o dispositivo ou recarregue esta página daqui a pouco.',
  },
  cancelledOnDevice: {
    title: 'Login cancelado',
    message: 'O login foi cancelado no dispositivo. Você pode fechar esta aba.',
  },
  links: { privacy: 'Política de privacidade', terms: 'Termos de serviço', support: 'Ajuda' },
};
