/** A command's "no": one line on standard error, exit code 1. */
export class Failure extends Error {}
