/** Bodies of forms, on the few public routes that take them. */
import type { FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is that of a form, of whatever type it says it is: the route gets its octets. */
    form?: boolean
  }
}

/** How multipart says that a field is the one of one-click (RFC 8058 §3.1, RFC 7578). */
const ONE_CLICK_PART = /name="?List-Unsubscribe"?[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n\s*One-Click\s*\r?\n/i

/** The fields of a form. Of multipart, which only one-click comes as, there is none but that of one-click. */
export function readForm({ body, headers }: FastifyRequest): URLSearchParams {
  const text = body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : ''
  if (!headers['content-type']?.trim().toLowerCase().startsWith('multipart/'))
    return new URLSearchParams(text)
  return new URLSearchParams(ONE_CLICK_PART.test(text) ? { 'List-Unsubscribe': 'One-Click' } : {})
}

/** Whether a form is what providers post to unsubscribe somebody: `List-Unsubscribe=One-Click` (RFC 8058 §3.1). */
export function isOneClick(form: URLSearchParams): boolean {
  const [value] = [...form].flatMap(([name, text]) =>
    name.toLowerCase() === 'list-unsubscribe' ? [text] : [],
  )
  return value?.trim().toLowerCase() === 'one-click'
}
