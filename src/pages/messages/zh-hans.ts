import type { Messages } from './messages.ts';

export const zhHans: Messages = {
  signedIn: {
    title: '已登录',
    heading: '您已登录',
    message: (app = '应用') => `您可以关闭此标签页，返回${app}。`,
  },
  failed: {
    title: '登录失败',
    cancelled: '登录已取消。',
    tryAgain: '登录失败，请重试。',
    incomplete: '登录服务商的响应不完整，请重试。',
    notCompleted: '无法完成登录，请重试。',
    linkInvalid: (app = '应用') => `此登录链接已失效，请从${app}重新开始。`,
  },
  home: {
    title: (app) => (app ? `登录${app}` : '使用代码登录'),
    about: (app = '应用') =>
      `通过此服务，您可以用手机登录电视或其他设备上的${app}。登录在服务商自己的页面上进行，您的密码不会经过这里。`,
  },
  codeForm: {
    title: '输入代码',
    label: '设备上显示的代码',
    hint: '八个字母；空格和连字符可有可无。',
    submit: '下一步',
  },
  confirm: {
    title: (app) => (app ? `要登录${app}吗？` : '要在您的设备上登录吗？'),
    consequence: (provider, app = '应用') => `如果继续，${app}将可以访问您的 ${provider} 账号。`,
    device: '设备',
    started: '开始时间',
    code: '设备上的代码',
    warning: '仅当登录由您本人发起时才继续。如果链接或代码是别人发给您的，请拒绝。',
    continue: '继续',
    decline: '拒绝',
    openInBrowser: '此页面是在其他应用内打开的，登录可能会被拒绝。请在浏览器中打开。',
  },
  codeIncomplete: {
    title: '代码不完整',
    message: '请输入设备上显示的八个字母。',
  },
  codeUnknown: {
    title: '此代码无效',
    message: '它可能已过期或已被使用。请核对代码，或在设备上重新开始。',
  },
  tooManyTries: {
    title: '尝试次数过多',
    message: '请稍候片刻，然后重新加载此页面。',
  },
  declined: {
    title: '已拒绝登录',
    message: '设备没有登录。您可以关闭此标签页。',
  },
  cancelledOnDevice: {
    title: '登录已取消',
    message: '登录已在设备上取消。您可以关闭此标签页。',
  },
};
