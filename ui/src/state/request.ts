/**
 * Formats logged requests: an HTTP request by path and query, an SMTP message by its envelope or the rejected command.
 * Pure.
 */
import type { Log, LogSummary } from '../../../appliance/api/logs.ts'
import { formatEnvelope } from './envelope.ts'

export interface RequestDescription {
  method: string
  words: string
  /** The query with its question mark; empty if there is none. */
  query: string
  /** The port of the SMTP listener; null for HTTP. */
  port: string | null
}

/** Formats a request in one line. */
export function describeRequest(log: LogSummary): RequestDescription {
  const { method, endpoint, envelope, query } = log
  if (method !== 'SMTP')
    return { method, words: endpoint, query: query === null ? '' : `?${readable(query)}`, port: null }
  const [, port = null, command = endpoint] = /^smtp:\/\/(\d+) (.+)$/s.exec(endpoint) ?? []
  const refusedAtEnvelope = command.startsWith('MAIL FROM') || command.startsWith('RCPT TO')
  const words = envelope && !refusedAtEnvelope ? formatEnvelope(envelope) : (COMMANDS[command] ?? command)
  return { method, words, query: '', port }
}

/** Describes commands whose names aren't self-explanatory. */
const COMMANDS: Record<string, string> = {
  AUTH: 'AUTH, no message',
  MAIL: 'message',
  SESSION: 'session closed by the server',
}

/** Decodes a query for display; invalid encoding is left unchanged. */
const readable = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns the parameters of a query in their original order. */
export const parseParameters = (query: string | null): [name: string, value: string][] =>
  query === null ? [] : [...new URLSearchParams(query)]

/** Returns the SMTP conversation; null for HTTP, or if it isn't stored. */
export function parseSmtpConversation({
  method,
  response_body: body,
}: Log): { said: string; reply: string }[] | null {
  if (method !== 'SMTP' || body === null || !Array.isArray(body.replies)) return null
  return body.replies as { said: string; reply: string }[]
}
