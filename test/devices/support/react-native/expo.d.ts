/** What the example uses of expo. */
import type { ReactNode } from 'react';

export function registerRootComponent(component: () => ReactNode): void;
