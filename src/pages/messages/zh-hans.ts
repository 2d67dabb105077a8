import type { Messages } from './en.ts';

export const zhHans: Messages = {
  signedIn: {
    title: '已登录',
    heading: '您已登录',
    message: (app = '应用') => `您可以关闭此标签页，返回${app}。`,
  },
  failed: {
    title: '登录失败',
    cancelled: '登录已取消。',
    notSignedIn: '您的设备未登录。您可以关闭此标签页。',
    tryAgain: '请重试。',
    incomplete: '收到的响应不完整。',
    notCompleted: '无法完成登录。',
    linkInvalid: (app = '应用') => `此登录链接已失效，请从${app}重新开始。`,
    linkEnded: '它已过期或已被使用。如果您刚刚登录，设备可能已经登录。',
    otherBrowser:
      '“继续”是在另一个浏览器中点击的，或者此浏览器禁用了 Cookie。请在那里完成登录，或先允许使用 Cookie，再在此浏览器中打开设备上显示的链接。',
    providerFault: (provider) => `${provider}出现了问题。`,
    refused: (provider) => `${provider}拒绝了此次登录，可能是因为用时过长。`,
    tellOperator: '如果再次出现，请将参考编号告诉此服务的管理员。',
    originHidden: '途中的代理隐藏了您是在哪个页面点击按钮的，因此此服务无法继续。请告知其运营者。',
    ownFault: '这是此服务的问题，请稍后重新加载此页面。',
    startAgain: (device = '设备') => `请在${device}上重新开始。`,
    reference: '参考编号',
  },
  home: {
    title: (app) => (app ? `登录${app}` : '使用激活码登录'),
    about: (app = '应用') =>
      `通过此服务，您可以用手机登录电视或其他设备上的${app}。您直接在服务提供方的官方网站上登录，密码不会经过这里。`,
    data: (app) =>
      `只有在您同意后，${app}才能访问您的账号。此服务只将访问权限转交给您的设备，不会保存。`,
    providers: '服务',
  },
  codeForm: {
    title: '输入激活码',
    label: '设备上显示的激活码',
    hint: '八个字母，不区分大小写，连字符可以省略。',
    submit: '验证',
  },
  confirm: {
    title: (app) => (app ? `要登录${app}吗？` : '要在您的设备上登录吗？'),
    consequence: (provider, app = '您的设备') => `如果继续，${app}将可以访问您的${provider}账号。`,
    service: '服务',
    device: '设备',
    started: '开始时间',
    justNow: '刚刚',
    code: '设备上显示的是这个激活码吗？',
    next: '下一步',
    signInAt: (host) => `登录 ${host}`,
    warning: '仅当登录由您本人发起时才继续。如果链接或激活码是别人发给您的，请拒绝。',
    continue: '继续',
    decline: '拒绝',
    openInBrowser: '此页面是在其他应用内打开的，登录可能会被拒绝。请在浏览器中打开。',
  },
  codeIncomplete: {
    title: '激活码不完整',
    message: '请输入设备上显示的八个字母。',
  },
  codeUnknown: {
    title: '此激活码无效',
    message: '它可能已过期或已被使用。请核对激活码，或在设备上重新开始。',
  },
  notFound: {
    title: '此页面不存在',
    message: '请核对网址，或输入设备上显示的激活码。',
  },
  tooManyTries: {
    title: '尝试次数过多',
    message: (seconds) => `请稍候。此页面将在${seconds}秒后自动重试。`,
  },
  inProgress: {
    title: '即将完成',
    message: '正在完成登录。请查看设备，或稍后重新加载此页面。',
  },
  cancelledOnDevice: {
    title: '登录已取消',
    message: '登录已在设备上取消。您可以关闭此标签页。',
  },
  links: { privacy: '隐私政策', terms: '服务条款', support: '帮助' },
};
