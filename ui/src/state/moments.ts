/**
 * How long things are shown that go away by themselves (milliseconds). No other timer of the dashboard is as long as one of
 * these: tests know them by that, and let what they look for stay.
 */

/** Notes on what was done: long enough to read two short sentences. */
export const NOTE_SHOWN = 6000
/** Those with a button: ten seconds to think better of what was done, and half a one for the way to the button. */
export const NOTE_OFFERED = 10_500
/** What became of a copy, at its button. */
export const COPY_SHOWN = 1600
/** What stays out of sight: a list that could be shown, until what stands above it is there too. */
export const PATIENCE = 900
