/**
 * How long temporary content is shown, in milliseconds. Tests identify and suppress these timers by their values, so no
 * other timer may use the same value.
 */

/** For notifications: long enough to read two short sentences. */
export const TOAST_MS = 6000
/** For notifications with a button: ten seconds to decide, and half a second to move to the button. */
export const TOAST_WITH_BUTTON_MS = 10_500
/** For the result of copying, shown at the copy button. */
export const COPY_RESULT_MS = 1600
/** Maximum time for which loaded content stays hidden until the slower content above it has loaded. */
export const MAX_REVEAL_DELAY_MS = 900
