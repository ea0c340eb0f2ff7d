/** How a logged request is written: an HTTP request by its path and query, an SMTP message by its envelope or the command that was refused. Pure. */
import type { Log, LogSummary } from '../../../appliance/api/logs.ts'
import { envelopeWords } from './envelope.ts'

export interface RequestWords {
  method: string
  words: string
  /** With its question mark; empty: none. */
  query: string
  /** The port of the SMTP listener; null: HTTP. */
  port: string | null
}

/** A request in one line. */
export function requestWords(log: LogSummary): RequestWords {
  const { method, endpoint, envelope, query } = log
  if (method !== 'SMTP')
    return { method, words: endpoint, query: query === null ? '' : `?${readable(query)}`, port: null }
  const [, port = null, command = endpoint] = /^smtp:\/\/(\d+) (.+)$/s.exec(endpoint) ?? []
  const refusedAtEnvelope = command.startsWith('MAIL FROM') || command.startsWith('RCPT TO')
  const words = envelope && !refusedAtEnvelope ? envelopeWords(envelope) : (COMMANDS[command] ?? command)
  return { method, words, query: '', port }
}

/** Commands that say too little by themselves. */
const COMMANDS: Record<string, string> = {
  AUTH: 'AUTH, no message',
  MAIL: 'message',
  SESSION: 'session closed by the server',
}

/** A query as people read it; what is encoded wrongly stays as it came. */
const readable = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Names and values of a query, in their order. */
export const parametersOf = (query: string | null): [name: string, value: string][] =>
  query === null ? [] : [...new URLSearchParams(query)]

/** What was said over SMTP; null over HTTP, or where it is not kept. */
export function exchangesOf({ method, response_body: body }: Log): { said: string; reply: string }[] | null {
  if (method !== 'SMTP' || body === null || !Array.isArray(body.replies)) return null
  return body.replies as { said: string; reply: string }[]
}
