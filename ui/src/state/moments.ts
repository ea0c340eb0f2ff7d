/**
 * How long temporary content is shown, in milliseconds. Tests recognize and suppress these timers by their values, so
 * no other timer may use the same value.
 */

/** Notifications: long enough to read two short sentences. */
export const NOTE_SHOWN = 6000
/** Notifications with a button: ten seconds to decide, and half a second to move to the button. */
export const NOTE_OFFERED = 10_500
/** The result of copying, at its button. */
export const COPY_SHOWN = 1600
/** Maximum time for which a loaded list stays hidden until the content above it has loaded. */
export const PATIENCE = 900
