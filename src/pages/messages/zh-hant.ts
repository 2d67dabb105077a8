import type { Messages } from './messages.ts';

export const zhHant: Messages = {
  signedIn: {
    title: '已登入',
    heading: '您已登入',
    message: (app = '應用程式') => `您可以關閉此分頁，返回${app}。`,
  },
  failed: {
    title: '登入失敗',
    cancelled: '登入已取消。',
    tryAgain: '登入失敗，請再試一次。',
    incomplete: '登入服務商的回應不完整，請再試一次。',
    notCompleted: '無法完成登入，請再試一次。',
    linkInvalid: (app = '應用程式') => `此登入連結已失效，請從${app}重新開始。`,
  },
  home: {
    title: (app) => (app ? `登入${app}` : '使用代碼登入'),
    about: (app = '應用程式') =>
      `透過此服務，您可以用手機登入電視或其他裝置上的${app}。登入在服務商自己的頁面上進行，您的密碼不會經過這裡。`,
  },
  codeForm: {
    title: '輸入代碼',
    label: '裝置上顯示的代碼',
    hint: '八個字母；空格和連字號可有可無。',
    submit: '下一步',
  },
  confirm: {
    title: (app) => (app ? `要登入${app}嗎？` : '要在您的裝置上登入嗎？'),
    consequence: (provider, app = '應用程式') =>
      `如果繼續，${app}將可以存取您的 ${provider} 帳號。`,
    device: '裝置',
    started: '開始時間',
    code: '裝置上的代碼',
    warning: '僅當登入由您本人發起時才繼續。如果連結或代碼是別人傳給您的，請拒絕。',
    continue: '繼續',
    decline: '拒絕',
    openInBrowser: '此頁面是在其他應用程式內開啟的，登入可能會遭到拒絕。請在瀏覽器中開啟。',
  },
  codeIncomplete: {
    title: '代碼不完整',
    message: '請輸入裝置上顯示的八個字母。',
  },
  codeUnknown: {
    title: '此代碼無效',
    message: '它可能已過期或已被使用。請核對代碼，或在裝置上重新開始。',
  },
  tooManyTries: {
    title: '嘗試次數過多',
    message: '請稍候片刻，然後重新載入此頁面。',
  },
  declined: {
    title: '已拒絕登入',
    message: '裝置沒有登入。您可以關閉此分頁。',
  },
  cancelledOnDevice: {
    title: '登入已取消',
    message: '登入已在裝置上取消。您可以關閉此分頁。',
  },
};
