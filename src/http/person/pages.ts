/** The pages that ask something of a person, with the headers that each needs. */
import type { FindPages, LanguagePages } from '../../pages/pages.ts';
import type { Found } from '../../relay/store.ts';
import { pageAnswer } from '../answers.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import {
  type AnswerWithPage,
  type CodeRefusal,
  createAnswerWithPage,
  refuseCode,
} from '../errors.ts';
import type { RequestView } from '../request-context.ts';
import { FORM_HEADERS, LEAVING_FORM_HEADERS } from '../security-headers.ts';
import { formatUserCode, shortLinkOf } from '../user-code.ts';
import { isInApp } from './in-app.ts';

export interface PersonPages {
  readonly tell: AnswerWithPage;
  home(request: RequestView): Response;
  codeForm(request: RequestView): Response;
  codeFormAgain(refusal: CodeRefusal, request: RequestView, written?: string): Response;
  /** `userCode` is absent when the person came by the long link. */
  confirm(request: RequestView, found: Found, provider: string, userCode?: string): Response;
}

type Options = Pick<AuthDoorOptions, 'baseUrl' | 'clock' | 'confirm'>;

export function createPersonPages(options: Options, findPages: FindPages): PersonPages {
  const { baseUrl, clock, confirm } = options;
  // Where nobody is asked, a typed code leads on to the provider without a stop.
  const formHeaders = confirm === 'never' ? LEAVING_FORM_HEADERS : FORM_HEADERS;

  function pagesFor(request: RequestView): LanguagePages {
    return findPages(request.header('accept-language'));
  }

  return {
    tell: createAnswerWithPage(findPages),
    home: (request) => pageAnswer(200, pagesFor(request).home, formHeaders),
    codeForm: (request) => pageAnswer(200, pagesFor(request).codeForm, formHeaders),
    codeFormAgain: (refusal, request, written = '') =>
      refuseCode(refusal, written, pagesFor(request), formHeaders),
    confirm(request, { startedAtMs, deviceName }, provider, userCode) {
      const link = userCode && { link: shortLinkOf(baseUrl, userCode) };
      const page = pagesFor(request).confirm({
        provider,
        ageMs: clock.now() - startedAtMs,
        ...(deviceName !== undefined && { deviceName }),
        ...(userCode !== undefined && { userCode: formatUserCode(userCode) }),
        ...(isInApp(request.header('user-agent')) && { inApp: { ...(link && link) } }),
      });
      return pageAnswer(200, page, LEAVING_FORM_HEADERS);
    },
  };
}
