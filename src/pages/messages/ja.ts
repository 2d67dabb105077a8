import type { Messages } from './en.ts';

/** Japanese has no spaces: where a line of a heading may end (ZERO WIDTH SPACE). */
const BREAK = '\u200b';

export const ja: Messages = {
  signedIn: {
    title: 'サインイン完了',
    heading: 'サインインしました',
    message: (app = 'アプリ') => `このタブを閉じて、${app}に戻ってください。`,
  },
  failed: {
    title: `サインイン${BREAK}できませんでした`,
    cancelled: 'サインインはキャンセルされました。',
    notSignedIn: 'デバイスはサインインされていません。このタブを閉じてもかまいません。',
    tryAgain: 'もう一度お試しください。',
    incomplete: '受け取った応答が不完全でした。',
    notCompleted: 'サインインを完了できませんでした。',
    linkInvalid: (app = 'アプリ') =>
      `このサインイン用リンクは無効になりました。${app}からもう一度やり直してください。`,
    linkEnded:
      '期限が切れたか、すでに使われています。サインインしたばかりの場合は、デバイスがすでにサインインされている可能性があります。',
    otherBrowser:
      '「続ける」が別のブラウザーで押されたか、このブラウザーがCookieをブロックしています。別のブラウザーで続けるか、Cookieを許可してから、デバイスに表示されたリンクをここで開いてください。',
    providerFault: (provider) => `${provider}で問題が発生しました。`,
    refused: (provider) =>
      `${provider}がサインインを受け付けませんでした。時間がかかりすぎた可能性があります。`,
    tellOperator: '繰り返し起こる場合は、このサービスの運営者に参照番号をお知らせください。',
    originHidden:
      '途中のプロキシが、どのページでボタンが押されたかを隠しているため、続行できません。このサービスの運営者にお知らせください。',
    ownFault: 'このサービス側の問題です。少し待ってから、このページを再読み込みしてください。',
    startAgain: (device = 'デバイス') => `${device}で最初からやり直してください。`,
    reference: '参照番号',
  },
  home: {
    title: (app) => (app ? `${app}に${BREAK}サインイン` : `コードで${BREAK}サインイン`),
    about: (app = 'アプリ') =>
      `テレビなどのデバイスの${app}に、スマートフォンを使ってサインインするためのサービスです。各サービスの公式サイトでサインインするため、パスワードがここを通ることはありません。`,
    data: (app) =>
      `${app}がアカウントにアクセスできるのは、お客様が同意した場合だけです。このサービスはアクセス権をデバイスに渡すだけで、保存しません。`,
    providers: 'サービス',
  },
  codeForm: {
    title: 'コードを入力',
    label: 'デバイスに表示されているコード',
    hint: '英字8文字。大文字と小文字は区別されず、ハイフンは省略できます。',
    submit: '確認',
  },
  confirm: {
    title: (app) =>
      app ? `${app}に${BREAK}サインインしますか？` : `デバイスで${BREAK}サインインしますか？`,
    consequence: (provider, app = 'お使いのデバイス') =>
      `続けると、${app}が${provider}のアカウントにアクセスできるようになります。`,
    service: 'サービス',
    device: 'デバイス',
    started: '開始',
    justNow: 'たった今',
    code: 'デバイスに同じコードが表示されていますか？',
    next: '次の手順',
    signInAt: (host) => `${host}でサインイン`,
    warning:
      'ご自身で始めた場合にだけ続けてください。リンクやコードを誰かから受け取った場合は、拒否してください。',
    continue: '続ける',
    decline: '拒否する',
    openInBrowser:
      'このページは別のアプリの中で開かれており、サインインできないことがあります。お使いのブラウザーで開いてください。',
  },
  codeIncomplete: {
    title: `コードが${BREAK}途中までです`,
    message: 'デバイスに表示されている英字8文字を入力してください。',
  },
  codeUnknown: {
    title: `このコードは${BREAK}無効です`,
    message:
      '期限が切れたか、すでに使われた可能性があります。コードを確かめるか、デバイスでやり直してください。',
  },
  notFound: {
    title: `このページは${BREAK}存在しません`,
    message: 'アドレスを確かめるか、デバイスに表示されているコードを入力してください。',
  },
  tooManyTries: {
    title: `試行回数が${BREAK}多すぎます`,
    message: (seconds) => `お待ちください。このページは${seconds}秒後に自動的に再試行します。`,
  },
  inProgress: {
    title: `もうすぐ${BREAK}完了します`,
    message:
      'サインインの処理中です。デバイスを確かめるか、少し待ってからこのページを再読み込みしてください。',
  },
  cancelledOnDevice: {
    title: `サインインは${BREAK}キャンセルされました`,
    message: 'デバイスでサインインがキャンセルされました。このタブを閉じてもかまいません。',
  },
  links: { privacy: 'プライバシーポリシー', terms: '利用規約', support: 'ヘルプ' },
};
