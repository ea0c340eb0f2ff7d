/**
 * Tracks the HTML of a message submitted as bytes: decodes, edits and encodes its HTML parts, and keeps all other
 * bytes. Leaves signed and encrypted content alone, because a change would break it. Pure.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { splitMessage } from '../mail/headers.ts'
import {
  createSearchBudget,
  isSignedOrEncrypted,
  type SearchBudget,
  splitMultipart,
  parseContentType,
  getFieldValues,
} from '../mime/entity.ts'
import { decodeBody } from './encoded-text.ts'
import { computeTrackingEdits, type Edit, type TrackingPlan } from './rewrite.ts'

/** Maximum nesting and maximum number of parts. Real messages have a tenth of that. */
const MAX_DEPTH = 20
const MAX_PARTS = 200
/**
 * Maximum size of HTML to track, in octets. More would block other work, and mail clients truncate HTML at a tenth of
 * that.
 */
const MAX_HTML = 1024 * 1024

interface Replacement {
  start: number
  end: number
  bytes: Buffer
}

/** Returns the message with tracked HTML; the same object when nothing changed. */
export function trackMessage(message: Uint8Array, plan: TrackingPlan): Uint8Array {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  const { fields } = splitMessage(bytes)
  // The DKIM signature covers the body (RFC 6376 §3.7), and someone may rely on it.
  if (getFieldValues(fields, 'dkim-signature').length > 0) return message
  const budget = createSearchBudget(bytes.length)
  const walk = { bytes, plan, parts: 0, budget, pixel: plan.opens, found: [] as Replacement[] }
  trackPart(walk, 0, bytes.length, 0)
  if (walk.found.length === 0) return message
  const pieces: Buffer[] = []
  let at = 0
  for (const { start, end, bytes: put } of walk.found) {
    pieces.push(bytes.subarray(at, start), put)
    at = end
  }
  return Buffer.concat([...pieces, bytes.subarray(at)])
}

interface Walk {
  bytes: Buffer
  plan: TrackingPlan
  parts: number
  budget: SearchBudget
  /** Whether the pixel still has to be inserted into the first HTML part. */
  pixel: boolean
  found: Replacement[]
}

/** Tracks one entity (RFC 2045 §2.4) between two offsets. */
function trackPart(walk: Walk, start: number, end: number, depth: number): void {
  if (depth > MAX_DEPTH || ++walk.parts > MAX_PARTS) return
  const { fields, bodyOffset } = splitMessage(walk.bytes.subarray(start, end))
  const types = getFieldValues(fields, 'content-type')
  const encodings = getFieldValues(fields, 'content-transfer-encoding')
  // If a header field occurs twice, mail clients differ in which one they use.
  if (types.length !== 1 || encodings.length > 1) return
  const { type, parameters } = parseContentType(types[0]!)
  const body = start + bodyOffset
  if (type.startsWith('multipart/')) {
    const boundary = parameters.get('boundary')
    if (isSignedOrEncrypted(type) || !boundary) return
    // A last part without a closing delimiter may be truncated, so it stays unchanged.
    for (const part of splitMultipart(walk.bytes, [body, end], boundary, { ...walk, most: MAX_PARTS }).parts)
      trackPart(walk, ...part, depth + 1)
    return
  }
  const attached = getFieldValues(fields, 'content-disposition').some((value) =>
    /^\s*attachment\b/i.test(value),
  )
  if (type !== 'text/html' || attached || end - body > MAX_HTML) return
  trackBody(walk, body, end, parameters.get('charset') ?? 'us-ascii', encodings[0] ?? '7bit')
}

function trackBody(walk: Walk, start: number, end: number, charset: string, encoding: string): void {
  if (!ASCII_COMPATIBLE.test(charset)) return
  const encoded = decodeBody(walk.bytes.subarray(start, end), encoding)
  if (!encoded) return
  const edits = editsIn(encoded.text, charset, { ...walk.plan, opens: walk.pixel })
  const bytes = edits.length > 0 ? encoded.change(edits) : undefined
  if (!bytes) return
  walk.pixel = false
  walk.found.push({ start, end, bytes })
}

/** Charsets in which octets below 128 are always ASCII. */
const ASCII_COMPATIBLE = /^(?:us-ascii|utf-?8|iso-8859-\d{1,2}|windows-125\d|cp125\d|latin\d)$/i

/** Finds the edits in HTML given in latin1 (one character per octet). */
function editsIn(html: string, charset: string, plan: TrackingPlan): Edit[] {
  const octets = Buffer.from(html, 'latin1')
  // In charsets other than UTF-8, leave non-ASCII links alone: they can't be decoded here.
  if (!isAscii(octets) && !(/^utf-?8$/i.test(charset) && isUtf8(octets)))
    return computeTrackingEdits(html, plan, (url) => (/^[\0-\x7f]*$/.test(url) ? url : undefined))
  const text = octets.toString('utf8')
  let [at, octet] = [0, 0]
  const octetAt = (index: number): number => {
    octet += Buffer.byteLength(text.slice(at, index))
    at = index
    return octet
  }
  return computeTrackingEdits(text, plan).map((edit) => ({
    start: octetAt(edit.start),
    end: octetAt(edit.end),
    text: edit.text,
  }))
}
