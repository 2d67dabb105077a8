/** The languages of the pages, by their tags (BCP 47). */
import { ar } from './ar.ts';
import { de } from './de.ts';
import { en, type Messages } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { it } from './it.ts';
import { ja } from './ja.ts';
import { ko } from './ko.ts';
import { ptBr } from './pt-br.ts';
import { ru } from './ru.ts';
import { zhHans } from './zh-hans.ts';
import { zhHant } from './zh-hant.ts';

export const CATALOGUE = {
  en,
  de,
  es,
  fr,
  it,
  ja,
  ko,
  'pt-BR': ptBr,
  ru,
  'zh-Hans': zhHans,
  'zh-Hant': zhHant,
  ar,
} as const satisfies Record<string, Messages>;

export type Language = keyof typeof CATALOGUE;

export const LANGUAGES = Object.keys(CATALOGUE) as Language[];
