import type { Messages } from './en.ts';

export const zhHant: Messages = {
  signedIn: {
    title: '已登入',
    heading: '您已登入',
    message: (app = '應用程式') => `您可以關閉此分頁，返回${app}。`,
  },
  failed: {
    title: '登入失敗',
    cancelled: '登入已取消。',
    notSignedIn: '您的裝置未登入。您可以關閉此分頁。',
    tryAgain: '請再試一次。',
    incomplete: '收到的回應不完整。',
    notCompleted: '無法完成登入。',
    linkInvalid: (app = '應用程式') => `此登入連結已失效，請從${app}重新開始。`,
    linkEnded: '它已過期或已被使用。如果您剛剛登入，裝置可能已經登入。',
    otherBrowser:
      '「繼續」是在另一個瀏覽器中按下的，或者此瀏覽器封鎖了 Cookie。請在那裡完成登入，或先允許使用 Cookie，再在此瀏覽器中開啟裝置上顯示的連結。',
    providerFault: (provider) => `${provider}發生問題。`,
    refused: (provider) => `${provider}拒絕了這次登入，可能是因為花費的時間過長。`,
    tellOperator: '如果再次發生，請將參考編號告訴此服務的管理員。',
    originHidden: '途中的代理隱藏了您是在哪個頁面按下按鈕的，因此此服務無法繼續。請告知其營運者。',
    ownFault: '這是此服務的問題，請稍後重新載入此頁面。',
    startAgain: (device = '裝置') => `請在${device}上重新開始。`,
    reference: '參考編號',
  },
  home: {
    title: (app) => (app ? `登入${app}` : '使用啟用碼登入'),
    about: (app = '應用程式') =>
      `透過此服務，您可以用手機登入電視或其他裝置上的${app}。您直接在服務提供者的官方網站上登入，密碼不會經過這裡。`,
    data: (app) =>
      `只有在您同意後，${app}才能存取您的帳號。此服務只會將存取權轉交給您的裝置，不會保留。`,
    providers: '服務',
  },
  codeForm: {
    title: '輸入啟用碼',
    label: '裝置上顯示的啟用碼',
    hint: '八個字母，不分大小寫，連字號可以省略。',
    submit: '驗證',
  },
  confirm: {
    title: (app) => (app ? `要登入${app}嗎？` : '要在您的裝置上登入嗎？'),
    consequence: (provider, app = '您的裝置') => `如果繼續，${app}將可以存取您的${provider}帳號。`,
    service: '服務',
    device: '裝置',
    started: '開始時間',
    justNow: '剛剛',
    code: '裝置上顯示的是這個啟用碼嗎？',
    next: '下一步',
    signInAt: (host) => `登入 ${host}`,
    warning: '只有在登入由您本人發起時才繼續。如果連結或啟用碼是別人傳給您的，請拒絕。',
    continue: '繼續',
    decline: '拒絕',
    openInBrowser: '此頁面是在其他應用程式內開啟的，登入可能會遭到拒絕。請在瀏覽器中開啟。',
  },
  codeIncomplete: {
    title: '啟用碼不完整',
    message: '請輸入裝置上顯示的八個字母。',
  },
  codeUnknown: {
    title: '此啟用碼無效',
    message: '它可能已過期或已被使用。請核對啟用碼，或在裝置上重新開始。',
  },
  notFound: {
    title: '此頁面不存在',
    message: '請核對網址，或輸入裝置上顯示的啟用碼。',
  },
  tooManyTries: {
    title: '嘗試次數過多',
    message: (seconds) => `請稍候。此頁面將在${seconds}秒後自動重試。`,
  },
  inProgress: {
    title: '即將完成',
    message: '正在完成登入。請查看裝置，或稍後重新載入此頁面。',
  },
  cancelledOnDevice: {
    title: '登入已取消',
    message: '登入已在裝置上取消。您可以關閉此分頁。',
  },
  links: { privacy: '隱私權政策', terms: '服務條款', support: '說明' },
};
