/**
 * How long tests wait for what is to come (milliseconds). It guards against a hang and measures nothing: a machine that is
 * busy with other things may take ten times as long as a quiet one, and no test fails because of that.
 */
export const PATIENCE = 60_000
