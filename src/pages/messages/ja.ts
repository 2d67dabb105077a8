import type { Messages } from './messages.ts';

export const ja: Messages = {
  signedIn: {
    title: 'サインイン完了',
    heading: 'サインインしました',
    message: (app = 'アプリ') => `このタブを閉じて、${app}に戻ってください。`,
  },
  failed: {
    title: 'サインインできませんでした',
    cancelled: 'サインインはキャンセルされました。',
    tryAgain: 'サインインに失敗しました。もう一度お試しください。',
    incomplete: 'プロバイダーからの応答が不完全でした。もう一度お試しください。',
    notCompleted: 'サインインを完了できませんでした。もう一度お試しください。',
    linkInvalid: (app = 'アプリ') =>
      `このサインイン用リンクは無効になりました。${app}からもう一度やり直してください。`,
  },
  home: {
    title: (app) => (app ? `${app}にサインイン` : 'コードでサインイン'),
    about: (app = 'アプリ') =>
      `テレビなどの機器の${app}に、スマートフォンからサインインするためのサービスです。サインインはプロバイダーのページで行うため、パスワードがここを通ることはありません。`,
  },
  codeForm: {
    title: 'コードを入力',
    label: '機器に表示されているコード',
    hint: '英字8文字です。空白やハイフンは有無を問いません。',
    submit: '次へ',
  },
  confirm: {
    title: (app) => (app ? `${app}にサインインしますか？` : '機器でサインインしますか？'),
    consequence: (provider, app = 'アプリ') =>
      `続けると、${app}が${provider}のアカウントにアクセスできるようになります。`,
    device: '機器',
    started: '開始',
    code: '機器のコード',
    warning:
      'ご自身で始めた場合にだけ続けてください。リンクやコードを誰かから受け取った場合は、拒否してください。',
    continue: '続ける',
    decline: '拒否する',
    openInBrowser:
      'このページは別のアプリの中で開かれており、サインインできないことがあります。お使いのブラウザーで開いてください。',
  },
  codeIncomplete: {
    title: 'コードが正しく入力されていません',
    message: '機器に表示されている英字8文字を入力してください。',
  },
  codeUnknown: {
    title: 'このコードは無効です',
    message:
      '期限が切れたか、すでに使われた可能性があります。コードを確かめるか、機器でやり直してください。',
  },
  tooManyTries: {
    title: '試行回数が多すぎます',
    message: '少し待ってから、このページを再読み込みしてください。',
  },
  declined: {
    title: 'サインインを拒否しました',
    message: '機器ではサインインされませんでした。このタブを閉じてかまいません。',
  },
  cancelledOnDevice: {
    title: 'サインインはキャンセルされました',
    message: '機器でサインインがキャンセルされました。このタブを閉じてかまいません。',
  },
};
