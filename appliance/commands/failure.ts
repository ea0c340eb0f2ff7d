import { Refusal } from '../mail/refusals.ts'

/** A command's "no": one line on standard error, exit code 1. */
export class Failure extends Error {}

/** What was typed cannot be used: one line on standard error, exit code 2. */
export class Misuse extends Failure {}

/** Reads what was typed with a reader that the API uses, too: a value that it refuses is wrong usage here. */
export async function readTyped<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const known = error instanceof Refusal && ['invalid_field', 'invalid_parameter'].includes(error.key)
    if (!known) throw error
    throw new Misuse(error.message, { cause: error })
  }
}
