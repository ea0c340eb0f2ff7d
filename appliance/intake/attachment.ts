import { detectExtension, detectMimeType } from 'nodemailer/lib/mime-funcs'
import type { AttachmentInput } from '../api/sending.ts'
import { numbersToBytes, decodeBase64, getDecodedFile } from '../mail/json-body.ts'
import { refuse } from '../mail/refusals.ts'
import { findUrlProblem } from '../wire/fetch.ts'
import type { LinkedAttachment, SubmittedAttachment } from './submission.ts'

/** Most file systems allow names of 255 bytes. Measured in UTF-16 units, to keep the limit easy to explain. */
const MAX_FILENAME = 255
const MAX_CONTENT_ID = 128
/** Limit on a Content-Disposition field from another server. */
const MAX_DISPOSITION = 2000

/** An attachment of a request, with its bytes or as a link. */
export type ParsedAttachment = SubmittedAttachment | LinkedAttachment

/** Reads one attachment of a request. Throws a `Refusal` with its position, counted from 1. */
export function parseAttachment(input: AttachmentInput, position: number): ParsedAttachment {
  const no = (expected: string) => refuse('invalid_attachment', { index: position + 1, expected })
  const filename = cleanFilename(input.filename ?? '')
  const contentId = readContentId(firstOf(input.content_id, input.inline_content_id))
  if (contentId === undefined)
    throw no(`\`content_id\` must be 1 to ${MAX_CONTENT_ID} printable ASCII characters without spaces`)
  const type = input.content_type ?? ''
  const given = type === '' ? null : readMediaType(type)
  if (given === undefined) throw no('`content_type` must be a media type such as application/pdf')
  const path = input.path ?? ''
  // Typed clients send an unset `content` as null or "" together with a path.
  if (path !== '' && !hasContent(input)) {
    const problem = URL.canParse(path) ? findUrlProblem(new URL(path)) : 'must be an http:// or https:// URL'
    if (problem !== undefined) throw no(`its \`path\` ${problem}`)
    return { position, url: new URL(path), filename, contentType: given, contentId }
  }
  if (input.content === undefined || input.content === null)
    throw no('it must have either a `content` or `path`')
  const content = readBytes(input.content)
  if (!content) throw no('`content` must be base64 or an array of bytes')
  return { filename, contentType: given ?? detectMimeType(filename ?? ''), contentId, content }
}

/** Returns the first set value. Typed clients send unset fields as null or "". */
function firstOf(...texts: (string | null | undefined)[]): string {
  return texts.find((text) => text !== undefined && text !== null && text !== '') ?? ''
}

function hasContent({ content }: AttachmentInput): boolean {
  return (
    content !== undefined &&
    content !== null &&
    content !== '' &&
    !(Array.isArray(content) && content.length === 0)
  )
}

/**
 * Returns name and type of a fetched attachment: from the request, otherwise from the response, otherwise from the URL.
 */
export function describeFetchedAttachment(
  { url, filename, contentType, contentId }: LinkedAttachment,
  answer: { contentType: string | null; disposition: string | null },
): Omit<SubmittedAttachment, 'content'> {
  const name = filename ?? cleanFilename(nameInDisposition(answer.disposition ?? '') ?? lastSegment(url))
  const byName = name === null ? 'application/octet-stream' : detectMimeType(name)
  const told = answer.contentType === null ? undefined : readMediaType(answer.contentType)
  // Storage services report octet-stream for everything without a known type.
  const useful = told === undefined || /^application\/octet-stream/i.test(told) ? byName : told
  return { filename: name, contentType: contentType ?? useful, contentId }
}

/** Returns a name for an unnamed attachment, with the extension of its type. */
export function generateFilename(contentType: string, position: number): string {
  const extension = detectExtension(contentType.replace(/[ \t]*;.*$/s, ''))
  // The table has `*` for types without a specific extension.
  return `attachment-${position + 1}.${extension === '*' ? 'bin' : extension}`
}

/** Parses the file name of a Content-Disposition field (RFC 6266 §4.3). The extended form wins (RFC 8187 §3.2). */
function nameInDisposition(field: string): string | undefined {
  // Node decodes header bytes as latin1, but servers that send raw names send UTF-8.
  const text = Buffer.from(field, 'latin1').toString('utf8').slice(0, MAX_DISPOSITION)
  const extended = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(text)?.[1]
  const quoted = /;\s*filename\s*=\s*"((?:[^"\\]|\\.)*)"/i.exec(text)?.[1]?.replaceAll(/\\(.)/g, '$1')
  const plain = /;\s*filename\s*=\s*([^;\s"]+)/i.exec(text)?.[1]
  return (extended === undefined ? undefined : decoded(extended)) ?? quoted ?? plain
}

const lastSegment = ({ pathname }: URL): string => {
  const last = pathname.slice(pathname.lastIndexOf('/') + 1)
  return decoded(last) ?? last
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined // A stray percent sign. Callers fall back to another name, or to the undecoded text.
  }
}

/**
 * Decodes bytes as clients send them: base64, an array of numbers, or a serialized Node Buffer. Undefined for anything
 * else.
 */
function readBytes(content: NonNullable<AttachmentInput['content']>): Uint8Array | undefined {
  if (typeof content === 'string') return decodeBase64(content)
  return getDecodedFile(content) ?? numbersToBytes(Array.isArray(content) ? content : content.data)
}

/**
 * Returns the last part of a path, without control characters and bidirectional marks: `fdp.exe` must not be displayed
 * as `exe.pdf`. Null if nothing is left.
 */
export function cleanFilename(filename: string): string | null {
  const last = filename.toWellFormed().split(/[/\\]/).at(-1)!
  const clean = last.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu, '').trim()
  return clean === '' || clean === '.' || clean === '..' ? null : shorten(clean)
}

/** Shortens a file name, but keeps the extension. */
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

/**
 * Parses a media type (RFC 2045 §5.1). Refuses `multipart`: multipart bodies are only composed here, never accepted
 * from a caller.
 */
function readMediaType(text: string): string | undefined {
  const match = mediaType.exec(text.trim())
  if (!match || /^multipart\//i.test(text.trim())) return undefined
  return match[1]!.toLowerCase() + match[2]!
}
