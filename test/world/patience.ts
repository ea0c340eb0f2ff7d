/**
 * How long tests wait for something to happen, in milliseconds. This only guards against hangs. A busy machine may be
 * ten times slower than an idle one, and tests must not fail because of that.
 */
export const PATIENCE = 60_000
