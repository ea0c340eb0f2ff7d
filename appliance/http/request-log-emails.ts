/**
 * Replaces HTML and text in the request log by references to the emails that a request created, and restores them when
 * someone opens the entry.
 */
import type { EmailContentReader } from '../intake/intake.ts'
import type { RequestLog } from '../storage/storage.ts'
import { MAX_LOGGED_BODY, truncateForLog, type RemainingBytes } from './request-log-body.ts'

/**
 * Placeholder for a text that is stored with the email. It can't come from an app, because a request with this value is
 * refused.
 */
const IN_EMAIL = true
/**
 * Name of the field with the ID of a batch element's email. An app can't forge it, because it doesn't know the ID in
 * advance.
 */
const EMAIL = '[email]'
const TEXTS = ['html', 'text'] as const

/** Placeholder for a text that was deleted by retention or erasure. */
const GONE = '[removed: the content of this email is no longer stored]'
/** Placeholder for texts that exceed the size that a log shows. */
const TOO_MUCH = '[cut: shown with the email itself]'

type Fields = Record<string, unknown>
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Returns the body of a request with the contents of its emails replaced.
 * @param answer names the elements of a batch that were refused, which stay as they are
 */
export function replaceEmailContents(body: unknown, emailIds: readonly string[], answer: unknown): unknown {
  if (emailIds.length === 0) return body
  if (isObject(body)) return withoutTexts(body)
  if (!Array.isArray(body)) return body
  const refused = new Set(refusedElements(answer))
  let made = 0
  const referring = (body as unknown[]).map((element, index) => {
    if (refused.has(index) || !isObject(element)) return element
    return { [EMAIL]: emailIds[made++], ...withoutTexts(element) }
  })
  // If the numbers differ, the batch doesn't have the expected structure.
  return made === emailIds.length ? referring : body
}

function withoutTexts(fields: Fields): Fields {
  const without = { ...fields }
  for (const name of TEXTS)
    if (typeof fields[name] === 'string' && fields[name] !== '') without[name] = IN_EMAIL
  return without
}

function refusedElements(answer: unknown): unknown[] {
  const errors = isObject(answer) && Array.isArray(answer.errors) ? (answer.errors as unknown[]) : []
  return errors.map((error) => (isObject(error) ? error.index : undefined))
}

/** Reads an email's content; undefined when there is none. */
export type ReadContent = (
  emailId: string,
) => Promise<Awaited<ReturnType<EmailContentReader['of']>> | undefined>

/** Returns the body of a logged request as the app sent it, with the contents of its emails. */
export async function restoreEmailContents(
  { requestBody, emailIds }: Pick<RequestLog, 'requestBody' | 'emailIds'>,
  contentOf: ReadContent,
): Promise<string | null> {
  if (requestBody === null || emailIds.length === 0) return requestBody
  const body = JSON.parse(requestBody) as Fields
  const room: RemainingBytes = { left: MAX_LOGGED_BODY }
  if (emailIds.length === 1) await fillTexts(body, emailIds[0]!, contentOf, room)
  const elements = Array.isArray(body.data) ? (body.data as unknown[]) : []
  for (const element of elements) {
    const id = isObject(element) ? element[EMAIL] : undefined
    if (!isObject(element) || typeof id !== 'string' || !emailIds.includes(id)) continue
    delete element[EMAIL]
    await fillTexts(element, id, contentOf, room)
  }
  return JSON.stringify(body)
}

async function fillTexts(
  fields: Fields,
  emailId: string,
  contentOf: ReadContent,
  room: RemainingBytes,
): Promise<void> {
  const names = TEXTS.filter((name) => fields[name] === IN_EMAIL)
  if (names.length === 0) return
  const content = room.left > 0 ? await contentOf(emailId) : undefined
  for (const name of names) {
    const text = content?.[name] ?? null
    if (room.left <= 0) fields[name] = TOO_MUCH
    else fields[name] = text === null ? GONE : truncateForLog(text, room)
  }
}
