import { detectMimeType } from 'nodemailer/lib/mime-funcs'
import type { AttachmentInput } from '../http/schemas/emails.ts'
import { refuse } from '../mail/refusals.ts'
import type { SubmittedAttachment } from './submission.ts'

/** Most file systems take names of 255 octets. In UTF-16 units, so that the limit is simple to tell. */
const MAX_FILENAME = 255
const MAX_CONTENT_ID = 128

/** Reads one attachment of a request. Throws a `Refusal` that tells its place, counted from 1. */
export function readAttachment(input: AttachmentInput, position: number): SubmittedAttachment {
  const no = (expected: string) => refuse('invalid_attachment', { index: position + 1, expected })
  const given = input as AttachmentInput & { path?: unknown; contentType?: unknown }
  if (given.content === undefined || given.content === null) {
    if (given.path === undefined || given.path === null || given.path === '')
      throw no('it must have a `content`')
    throw no('`path` is not supported by this server version, send the `content`')
  }
  const content = readBytes(given.content)
  if (!content) throw no('`content` must be base64 or an array of bytes')
  const filename = cleanFilename(given.filename ?? '')
  const contentId = readContentId(given.content_id ?? '')
  if (contentId === undefined)
    throw no(`\`content_id\` must be 1 to ${MAX_CONTENT_ID} printable ASCII characters without spaces`)
  // The hosted service's Rust client writes this one field in camel case.
  const type = given.content_type ?? (typeof given.contentType === 'string' ? given.contentType : '')
  const contentType = type === '' ? detectMimeType(filename ?? '') : readMediaType(type)
  if (contentType === undefined) throw no('`content_type` must be a media type such as application/pdf')
  return { filename, contentType, contentId, content }
}

/** Bytes as clients write them: base64, an array of numbers, or what Node makes of a Buffer. Undefined for anything else. */
export function readBytes(content: NonNullable<AttachmentInput['content']>): Uint8Array | undefined {
  if (typeof content === 'string') return decodeBase64(content)
  const bytes = Array.isArray(content) ? content : content.data
  return bytes.every((byte) => byte >= 0 && byte <= 255) ? Uint8Array.from(bytes) : undefined
}

/**
 * Decodes base64 (RFC 4648 §4, or §5 with `-_`), padded or not, broken into lines or not. Node skips what it does not
 * know, so that a wrong text shows by its length: undefined then.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const decoded = exactly(text)
  // Rare, and a look at every character of up to 40 MB: only when the fast way fails.
  return decoded ?? (/\s/.test(text) ? exactly(text.replaceAll(/\s+/g, '')) : undefined)
}

function exactly(text: string): Uint8Array | undefined {
  const characters = text.endsWith('==')
    ? text.length - 2
    : text.endsWith('=')
      ? text.length - 1
      : text.length
  if (characters % 4 === 1) return undefined
  const decoded = Buffer.from(text, 'base64')
  return decoded.length === Math.floor((characters * 3) / 4) ? decoded : undefined
}

/**
 * The last part of a path, without controls and without the marks that turn the direction of writing: `fdp.exe` must
 * not be shown as `exe.pdf`. Null when nothing is left.
 */
export function cleanFilename(filename: string): string | null {
  const last = filename.toWellFormed().split(/[/\\]/).at(-1)!
  const clean = last.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu, '').trim()
  return clean === '' || clean === '.' || clean === '..' ? null : shorten(clean)
}

/** Keeps the ending, which tells the type. */
function shorten(filename: string): string {
  if (filename.length <= MAX_FILENAME) return filename
  const ending = /\.[^.]{1,16}$/.exec(filename)?.[0] ?? ''
  return (filename.slice(0, MAX_FILENAME - ending.length) + ending).toWellFormed()
}

function readContentId(text: string): string | null | undefined {
  if (text === '') return null
  const id = text.replace(/^<(.*)>$/, '$1')
  return id.length <= MAX_CONTENT_ID && /^[!-;=?-~]+$/.test(id) ? id : undefined
}

const token = "[\\w!#$%&'*+\\-.^`{|}~]{1,127}"
const mediaType = new RegExp(
  `^(${token}/${token})((?:[ \\t]*;[ \\t]*${token}=(?:${token}|"[^"\\\\\\x00-\\x1f\\x7f-\\uffff]{0,255}")){0,10})$`,
)

/** RFC 2045 §5.1. Not `multipart`: a body of parts is composed here, never taken from a caller. */
function readMediaType(text: string): string | undefined {
  const match = mediaType.exec(text.trim())
  if (!match || /^multipart\//i.test(text.trim())) return undefined
  return match[1]!.toLowerCase() + match[2]!
}
