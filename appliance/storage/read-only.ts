/** A storage that only reads, for commands that must not change anything, not even the schema. */
import type { Thread } from './engine/thread.ts'
import type { ReadMethods, ReadOnlyStorage } from './storage.ts'

/**
 * Makes a storage of the thread that reads. Each call is a transaction and sees one state of the database, as with
 * `assemble`. There is no thread that writes, and no sweep of message files.
 */
export function readOnly(reader: Thread): ReadOnlyStorage {
  const calls = reader.methods.map(({ name }) => [
    name,
    (args: unknown, now: number): Promise<unknown> => reader.call(name, args, now),
  ])
  // The types are right because they come from the list that the thread runs.
  const methods = Object.fromEntries(calls) as ReadMethods
  return {
    ...methods,
    close: () => reader.close(),
  }
}

/** What the threads of both engines are told when they end unexpectedly: pending calls fail by themselves. */
export const onLost = (): void => undefined

/** The name of the thread, as shown by the system. */
export const READER = 'storage reader'
