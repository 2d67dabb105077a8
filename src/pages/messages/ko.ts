import type { Messages } from './messages.ts';

/** The particle goes with "앱", so the name may end in any sound. */
function named(app: string | undefined): string {
  return app ? `${app} 앱` : '앱';
}

export const ko: Messages = {
  signedIn: {
    title: '로그인 완료',
    heading: '로그인했습니다',
    message: (app) => `이 탭을 닫고 ${named(app)}으로 돌아가세요.`,
  },
  failed: {
    title: '로그인 실패',
    cancelled: '로그인이 취소되었습니다.',
    tryAgain: '로그인하지 못했습니다. 다시 시도해 주세요.',
    incomplete: '제공업체의 응답이 불완전합니다. 다시 시도해 주세요.',
    notCompleted: '로그인을 완료하지 못했습니다. 다시 시도해 주세요.',
    linkInvalid: (app) =>
      `이 로그인 링크는 더 이상 유효하지 않습니다. ${named(app)}에서 다시 시작해 주세요.`,
  },
  home: {
    title: (app) => (app ? `${named(app)}에 로그인` : '코드로 로그인'),
    about: (app) =>
      `TV나 다른 기기의 ${named(app)}에 휴대전화로 로그인하는 서비스입니다. 로그인은 제공업체의 페이지에서 이루어지므로 비밀번호는 이곳을 거치지 않습니다.`,
  },
  codeForm: {
    title: '코드 입력',
    label: '기기에 표시된 코드',
    hint: '영문자 8자이며, 공백과 하이픈은 있어도 없어도 됩니다.',
    submit: '다음',
  },
  confirm: {
    title: (app) => (app ? `${named(app)}에 로그인할까요?` : '기기에서 로그인할까요?'),
    consequence: (provider, app) =>
      `계속하면 ${named(app)}이 ${provider} 계정에 접근할 수 있게 됩니다.`,
    device: '기기',
    started: '시작',
    code: '기기의 코드',
    warning: '직접 시작한 경우에만 계속하세요. 누군가 링크나 코드를 보냈다면 거부하세요.',
    continue: '계속',
    decline: '거부',
    openInBrowser:
      '이 페이지는 다른 앱 안에서 열려 있어 로그인이 거부될 수 있습니다. 사용하는 브라우저에서 열어 주세요.',
  },
  codeIncomplete: {
    title: '코드가 올바르게 입력되지 않았습니다',
    message: '기기에 표시된 영문자 8자를 입력해 주세요.',
  },
  codeUnknown: {
    title: '유효하지 않은 코드입니다',
    message:
      '만료되었거나 이미 사용되었을 수 있습니다. 코드를 확인하거나 기기에서 다시 시작해 주세요.',
  },
  tooManyTries: {
    title: '시도 횟수가 너무 많습니다',
    message: '잠시 기다린 뒤 이 페이지를 새로 고쳐 주세요.',
  },
  declined: {
    title: '로그인을 거부했습니다',
    message: '기기에서 로그인되지 않았습니다. 이 탭을 닫아도 됩니다.',
  },
  cancelledOnDevice: {
    title: '로그인이 취소되었습니다',
    message: '기기에서 로그인이 취소되었습니다. 이 탭을 닫아도 됩니다.',
  },
};
