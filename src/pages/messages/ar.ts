import type { Messages } from './messages.ts';

/** Isolates a name, which may be in a script of the other direction, from the sentence. Unicode UAX #9, FSI and PDI. */
function isolate(name: string): string {
  return `\u2068${name}\u2069`;
}

function named(app: string | undefined): string {
  return app ? `تطبيق ${isolate(app)}` : 'التطبيق';
}

export const ar: Messages = {
  signedIn: {
    title: 'تم تسجيل الدخول',
    heading: 'لقد سجّلت الدخول',
    message: (app) => `يمكنك إغلاق علامة التبويب هذه والعودة إلى ${named(app)}.`,
  },
  failed: {
    title: 'تعذّر تسجيل الدخول',
    cancelled: 'أُلغي تسجيل الدخول.',
    tryAgain: 'تعذّر تسجيل الدخول. يُرجى المحاولة مرة أخرى.',
    incomplete: 'كان ردّ مزوّد الخدمة ناقصًا. يُرجى المحاولة مرة أخرى.',
    notCompleted: 'تعذّر إكمال تسجيل الدخول. يُرجى المحاولة مرة أخرى.',
    linkInvalid: (app) =>
      `لم يعد رابط تسجيل الدخول هذا صالحًا. يُرجى البدء من جديد من ${named(app)}.`,
  },
  home: {
    title: (app) => (app ? `تسجيل الدخول إلى ${named(app)}` : 'تسجيل الدخول برمز'),
    about: (app) =>
      `بهذه الخدمة تسجّل الدخول من هاتفك إلى ${named(app)} على تلفاز أو جهاز آخر. يجري ذلك في صفحة مزوّد الخدمة نفسه، فلا تمرّ كلمة مرورك من هنا أبدًا.`,
  },
  codeForm: {
    title: 'أدخل الرمز',
    label: 'الرمز الظاهر على جهازك',
    hint: 'ثمانية أحرف لاتينية، ولا أهمية للمسافات والشرطات.',
    submit: 'التالي',
  },
  confirm: {
    title: (app) =>
      app ? `هل تريد تسجيل الدخول إلى ${named(app)}؟` : 'هل تريد تسجيل الدخول على جهازك؟',
    consequence: (provider, app) =>
      `إذا تابعت، فسيحصل ${named(app)} على إذن بالوصول إلى حسابك لدى ${isolate(provider)}.`,
    device: 'الجهاز',
    started: 'وقت البدء',
    code: 'الرمز على الجهاز',
    warning: 'لا تتابع إلا إذا بدأت هذا بنفسك. إذا أرسل إليك شخص ما الرابط أو الرمز، فارفض.',
    continue: 'متابعة',
    decline: 'رفض',
    openInBrowser:
      'هذه الصفحة مفتوحة داخل تطبيق آخر، وكثيرًا ما يُرفض تسجيل الدخول هناك. يُرجى فتحها في متصفحك.',
  },
  codeIncomplete: {
    title: 'الرمز غير مكتمل',
    message: 'يُرجى إدخال الأحرف الثمانية الظاهرة على جهازك.',
  },
  codeUnknown: {
    title: 'هذا الرمز غير صالح',
    message: 'ربما انتهت صلاحيته أو سبق استخدامه. تحقّق منه، أو ابدأ من جديد على الجهاز.',
  },
  tooManyTries: {
    title: 'محاولات كثيرة جدًا',
    message: 'يُرجى الانتظار قليلًا ثم إعادة تحميل هذه الصفحة.',
  },
  declined: {
    title: 'رُفض تسجيل الدخول',
    message: 'لم يُسجَّل الدخول على الجهاز. يمكنك إغلاق علامة التبويب هذه.',
  },
  cancelledOnDevice: {
    title: 'أُلغي تسجيل الدخول',
    message: 'أُلغي تسجيل الدخول من الجهاز. يمكنك إغلاق علامة التبويب هذه.',
  },
};
