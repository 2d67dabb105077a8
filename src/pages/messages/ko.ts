import type { Messages } from './en.ts';

/** The particle goes with "앱", so the name may end in any sound. */
function named(app: string | undefined): string {
  return app ? `${app} 앱` : '앱';
}

export const ko: Messages = {
  signedIn: {
    title: '로그인 완료',
    heading: '로그인되었습니다',
    message: (app) => `이 탭을 닫고 ${named(app)}으로 돌아가세요.`,
  },
  failed: {
    title: '로그인 실패',
    cancelled: '로그인이 취소되었습니다.',
    notSignedIn: '기기에서 로그인되지 않았습니다. 이 탭을 닫아도 됩니다.',
    tryAgain: '다시 시도해 주세요.',
    incomplete: '받은 응답이 불완전합니다.',
    notCompleted: '로그인을 완료하지 못했습니다.',
    linkInvalid: (app) =>
      `이 로그인 링크는 더 이상 유효하지 않습니다. ${named(app)}에서 다시 시작해 주세요.`,
    linkEnded:
      '만료되었거나 이미 사용되었습니다. 방금 로그인했다면 기기에 이미 로그인되어 있을 수 있습니다.',
    otherBrowser:
      '다른 브라우저에서 ‘계속’을 눌렀거나, 이 브라우저가 쿠키를 차단하고 있습니다. 그 브라우저에서 로그인을 마치거나, 쿠키를 허용하고 기기에 표시된 링크를 이 브라우저에서 열어 주세요.',
    providerFault: (provider) => `${provider}에 문제가 발생했습니다.`,
    refused: (provider) =>
      `${provider}에서 로그인을 받아들이지 않았습니다. 시간이 너무 오래 걸렸을 수 있습니다.`,
    tellOperator: '같은 문제가 반복되면 이 서비스의 운영자에게 참조 번호를 알려 주세요.',
    originHidden:
      '중간의 프록시가 어느 페이지에서 버튼을 눌렀는지 숨기고 있어 계속할 수 없습니다. 이 서비스의 운영자에게 알려 주세요.',
    ownFault: '이 서비스의 문제입니다. 잠시 후 이 페이지를 새로 고쳐 주세요.',
    startAgain: (device = '기기') => `${device}에서 다시 시작해 주세요.`,
    reference: '참조 번호',
  },
  home: {
    title: (app) => (app ? `${named(app)}에 로그인` : '코드로 로그인'),
    about: (app) =>
      `휴대전화를 사용해 TV나 다른 기기의 ${named(app)}에 로그인하는 서비스입니다. 로그인은 각 서비스의 공식 사이트에서 이루어지므로 비밀번호는 이곳을 거치지 않습니다.`,
    data: (app) =>
      `${named(app)}은 사용자가 동의한 경우에만 계정에 접근할 수 있습니다. 이 서비스는 접근 권한을 기기에 전달할 뿐, 저장하지 않습니다.`,
    providers: '서비스',
  },
  codeForm: {
    title: '코드 입력',
    label: '기기에 표시된 코드',
    hint: '영문자 8자. 대소문자는 구분하지 않으며 하이픈은 생략할 수 있습니다.',
    submit: '확인',
  },
  confirm: {
    title: (app) => (app ? `${named(app)}에 로그인할까요?` : '기기에서 로그인할까요?'),
    consequence: (provider, app) =>
      `계속하면 ${app ? `${named(app)}이` : '기기가'} ${provider} 계정에 접근할 수 있게 됩니다.`,
    service: '서비스',
    device: '기기',
    started: '시작',
    justNow: '방금',
    code: '기기에 같은 코드가 표시되어 있나요?',
    next: '다음 단계',
    signInAt: (host) => `${host}에서 로그인`,
    warning: '직접 시작한 경우에만 계속하세요. 누군가 링크나 코드를 보냈다면 거부하세요.',
    continue: '계속',
    decline: '거부',
    openInBrowser:
      '이 페이지는 다른 앱 안에서 열려 있어 로그인이 거부될 수 있습니다. 사용하는 브라우저에서 열어 주세요.',
  },
  codeIncomplete: {
    title: '코드가 완전하지 않습니다',
    message: '기기에 표시된 영문자 8자를 입력해 주세요.',
  },
  codeUnknown: {
    title: '유효하지 않은 코드입니다',
    message:
      '만료되었거나 이미 사용되었을 수 있습니다. 코드를 확인하거나 기기에서 다시 시작해 주세요.',
  },
  notFound: {
    title: '존재하지 않는 페이지입니다',
    message: '주소를 확인하거나 기기에 표시된 코드를 입력해 주세요.',
  },
  tooManyTries: {
    title: '시도 횟수가 너무 많습니다',
    message: (seconds) =>
      `잠시 기다려 주세요. ${seconds}초 후에 이 페이지가 자동으로 다시 시도합니다.`,
  },
  inProgress: {
    title: '거의 끝났습니다',
    message:
      '로그인을 마무리하고 있습니다. 기기를 확인하거나 잠시 후 이 페이지를 새로 고쳐 주세요.',
  },
  cancelledOnDevice: {
    title: '로그인이 취소되었습니다',
    message: '기기에서 로그인이 취소되었습니다. 이 탭을 닫아도 됩니다.',
  },
  links: { privacy: '개인정보처리방침', terms: '이용약관', support: '도움말' },
};
