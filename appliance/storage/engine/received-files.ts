/**
 * Received email whose messages are in files. The storage methods handle only rows; this module combines rows and
 * files.
 */
import { setImmediate } from 'node:timers/promises'
import { createEraser, type Eraser } from '../../mail/erasure.ts'
import { type LargeMessageStore, MissingMessage } from '../bodies.ts'
import type { ErasureStepResult, FilesToSearch } from '../erasures/erasures.ts'
import type { StoredReceivedEmail } from '../received-emails.ts'
import type { Erasure, MessageMethods } from '../storage.ts'
import { copyForRow, isLarge, removeAll, storeLarge } from './large-messages.ts'
import type { Thread } from './thread.ts'

type Methods = Pick<
  MessageMethods,
  'keepReceivedEmails' | 'getReceivedSource' | 'purgeReceived' | 'eraseStep' | 'surveyErasure'
>

interface Parts {
  writer: Thread
  reader: Thread
  bodies: LargeMessageStore
}

export function createReceivedFileMethods(parts: Parts): Methods {
  const { writer, reader, bodies } = parts
  return {
    keepReceivedEmails: (args, now) => keep(parts, args, now),

    async getReceivedSource(args, now) {
      const body = await reader.call<Uint8Array | null | undefined>('receivedBody', args, now)
      return body === null ? bodies.read(args.id) : body
    },

    async purgeReceived(args, now) {
      const purged = await writer.call<{ count: number; files: string[] }>('purgeReceived', args, now)
      await removeAll(bodies, purged.files)
      return purged.count
    },

    // Also removes the files of the previous step again, because a crash may have happened between its commit and their
    // removal.
    async eraseStep(args, now): Promise<Erasure | undefined> {
      const searched = await search(parts, args, now)
      const step = await writer.call<ErasureStepResult | undefined>('eraseStep', { ...args, searched }, now)
      await removeAll(bodies, step?.files ?? [])
      return step?.erasure
    },

    async surveyErasure(args, now) {
      const searched = await search(parts, args, now)
      return reader.call('surveyErasure', { ...args, searched }, now)
    },
  }
}

async function keep(
  { writer, reader, bodies }: Parts,
  { emails, limits }: Parameters<Methods['keepReceivedEmails']>[0],
  now: number,
): ReturnType<Methods['keepReceivedEmails']> {
  const store = () => {
    const stored = emails.map(({ bytes, ...email }) => ({
      ...email,
      body: email.eventOnly ? null : copyForRow(bodies, bytes),
    }))
    const args: { emails: StoredReceivedEmail[]; limits: typeof limits } = { emails: stored, limits }
    const moved = stored.flatMap(({ body }) => body?.buffer ?? [])
    return writer.call<'kept' | 'full' | 'unknown'>('keepReceivedEmails', args, now, moved)
  }
  const whole = emails.filter(({ eventOnly }) => !eventOnly)
  const kept = await storeLarge(bodies, whole, store, (result) => result === 'kept')
  const ids = whole.filter(({ bytes }) => isLarge(bodies, bytes)).map(({ id }) => id)
  if (kept !== 'kept' || ids.length === 0) return kept
  // Emails to domains that don't keep content have rows but no files, so remove the files that no row refers to.
  const referred = new Set(await reader.call<string[]>('messagesInFiles', { ids }, now))
  await removeAll(
    bodies,
    ids.filter((id) => !referred.has(id)),
  )
  return kept
}

/** Searches the files of the next step of an erasure for the address. */
async function search(
  { reader, bodies }: Parts,
  args: object,
  now: number,
): Promise<{ id: string; named: boolean }[]> {
  const wanted = await reader.call<FilesToSearch>('filesToSearch', args, now)
  if (!wanted) return []
  const eraser = createEraser(wanted.address, '')
  const searched: { id: string; named: boolean }[] = []
  for (const id of wanted.ids) {
    const bytes = await bodies.read(id).catch(nothingThere)
    searched.push({ id, named: await names(bytes, eraser) })
  }
  return searched
}

/**
 * Returns empty content for a file that is missing, because retention deleted it or it was lost. It can't contain the
 * address.
 */
function nothingThere(error: unknown): Uint8Array {
  if (error instanceof MissingMessage) return new Uint8Array()
  throw error
}

/** Number of bytes to search at once, which takes a few milliseconds. */
const SLICE = 128 * 1024

/**
 * Whether the text contains the address. Searches several whole lines at a time, because an address never spans two
 * lines.
 */
async function names(bytes: Uint8Array, eraser: Eraser): Promise<boolean> {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at < whole.length;) {
    const line = whole.indexOf('\n', at + SLICE)
    const end = line < 0 ? whole.length : line + 1
    if (eraser.finds(whole.toString('utf8', at, end))) return true
    at = end
    await setImmediate()
  }
  return false
}
