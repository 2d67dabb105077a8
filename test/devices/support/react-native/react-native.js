/** Elements that the test renderer draws, and a remote control with a Back key. */
export const View = 'View';
export const Text = 'Text';
export const Pressable = 'Pressable';
export const StyleSheet = { create: (styles) => styles };

const handlers = [];

export const BackHandler = {
  addEventListener(_event, handler) {
    handlers.push(handler);
    return { remove: () => handlers.splice(handlers.indexOf(handler), 1) };
  },
};

/** As the system does: the newest that returns true ends it. False: the app is left. */
export const pressBack = () => handlers.toReversed().some((handler) => handler());
