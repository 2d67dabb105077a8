/** What the example uses of react-native, whose own types need 178 MB of packages. */
import type { ReactNode } from 'react';

type Length = number | `${number}%`;

interface Style {
  readonly flex?: number;
  readonly gap?: number;
  readonly alignItems?: 'center';
  readonly justifyContent?: 'center';
  readonly position?: 'absolute';
  readonly top?: Length;
  readonly left?: Length;
  readonly width?: Length;
  readonly height?: Length;
  readonly padding?: Length;
  readonly borderRadius?: number;
  readonly backgroundColor?: string;
  readonly color?: string;
  readonly fontSize?: number;
  readonly fontWeight?: '700';
}

interface ViewProps {
  readonly style?: Style;
  readonly accessibilityLabel?: string;
  readonly children?: ReactNode;
}

export function View(props: ViewProps): ReactNode;
export function Text(props: ViewProps): ReactNode;
export function Pressable(
  props: ViewProps & { readonly onPress?: () => void; readonly hasTVPreferredFocus?: boolean },
): ReactNode;

export const StyleSheet: {
  create<Styles extends Readonly<Record<string, Style>>>(styles: Styles): Styles;
};

export const BackHandler: {
  addEventListener(
    event: 'hardwareBackPress',
    handler: () => boolean,
  ): { readonly remove: () => void };
};
