/**
 * Html and text of emails in the log of requests. The log does not repeat them: a request that made emails refers to these, and what they say
 * is filled in when somebody looks.
 */
import type { Contents } from '../intake/intake.ts'
import type { RequestLog } from '../storage/storage.ts'
import { BODY_ROOM, textForLog, type Room } from './request-log-body.ts'

/** In the place of a text that the email has. No app can write it: an email with such a text is refused. */
const IN_EMAIL = true
/** Names the email of an element of a batch. An app cannot write it there: it does not know the id before its email is made. */
const EMAIL = '[email]'
const TEXTS = ['html', 'text'] as const

/** In the place of a text that is gone: its retention is over, or it was erased. */
const GONE = '[removed: the content of this email is no longer stored]'
/** In the place of texts that are more than a log shows. */
const TOO_MUCH = '[cut: shown with the email itself]'

type Fields = Record<string, unknown>
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The body of a request that made these emails, without what they say.
 * @param answer names the elements of a batch that were refused: these stay as they are
 */
export function referToEmails(body: unknown, emailIds: readonly string[], answer: unknown): unknown {
  if (emailIds.length === 0) return body
  if (isObject(body)) return withoutTexts(body)
  if (!Array.isArray(body)) return body
  const refused = new Set(refusedElements(answer))
  let made = 0
  const referring = (body as unknown[]).map((element, index) => {
    if (refused.has(index) || !isObject(element)) return element
    return { [EMAIL]: emailIds[made++], ...withoutTexts(element) }
  })
  // Whatever else it is, it is no batch as we know it.
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

/** What an email says; undefined when there is none. */
export type ContentOf = (emailId: string) => Promise<Awaited<ReturnType<Contents['of']>> | undefined>

/** The body of a logged request as the app sent it, with what its emails say. */
export async function fillIn(
  { requestBody, emailIds }: Pick<RequestLog, 'requestBody' | 'emailIds'>,
  contentOf: ContentOf,
): Promise<string | null> {
  if (requestBody === null || emailIds.length === 0) return requestBody
  const body = JSON.parse(requestBody) as Fields
  const room: Room = { left: BODY_ROOM }
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

async function fillTexts(fields: Fields, emailId: string, contentOf: ContentOf, room: Room): Promise<void> {
  const names = TEXTS.filter((name) => fields[name] === IN_EMAIL)
  if (names.length === 0) return
  const content = room.left > 0 ? await contentOf(emailId) : undefined
  for (const name of names) {
    const text = content?.[name] ?? null
    if (room.left <= 0) fields[name] = TOO_MUCH
    else fields[name] = text === null ? GONE : textForLog(text, room)
  }
}
