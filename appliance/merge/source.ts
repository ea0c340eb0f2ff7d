/** Parses sources of emails with tags, `{{{KEY}}}` or `{{{KEY|fallback}}}`. Pure. */
import { refuse } from '../mail/refusals.ts'
import { toOneLine } from './escape.ts'
import { createHtmlScanner, type HtmlContext } from './html-place.ts'

/** The type of a source: HTML, plain text, or the value of a header field such as the subject. */
export type MergeKind = 'html' | 'text' | 'header'

/** A tag of a source. */
export interface MergeTag {
  key: string
  /** The fallback in the source; null if there is none. */
  fallback: string | null
  /** Its context in HTML; `text` in other sources. */
  place: HtmlContext
}

/** A parsed source. Plain data, so it can be stored. */
export interface MergeSource {
  kind: MergeKind
  /** Literal text and tags, in order. */
  pieces: (string | MergeTag)[]
}

/** A value for a tag. */
export interface MergeValue {
  /** Null if there is no value. */
  text: string | null
  /** Used for a missing value if the tag has no fallback. If null, the tag becomes empty. */
  fallback: string | null
  /**
   * Whether it comes from the sender's own code. Then it is merged into HTML unescaped; all other values are escaped.
   */
  raw: boolean
}

/** Returns the value for a key; undefined if the key is unknown, or its value is missing and required. */
export type MergeValues = (key: string) => MergeValue | undefined

/** Limit on the characters of a source and of its result: the largest request. */
export const MAX_MERGED_LENGTH = 8 * 1024 * 1024
/** Limit on the tags of one source. */
const MAX_TAGS = 1000
/** Limit on the characters of a key, including the words before the last dot. */
const MAX_KEY = 120
/** Limit on the characters of a fallback in a source. */
const MAX_FALLBACK = 2000
const TAG = new RegExp(
  String.raw`\{\{\{(?!\{)[ \t]{0,20}([A-Za-z0-9_.]{1,${MAX_KEY}})[ \t]{0,20}(?:\|([^{}]{0,${MAX_FALLBACK}}))?\}\}\}`,
  'y',
)
const KEY = /^\w+(?:\.\w+){0,2}$/

/**
 * Parses a source.
 * @param field its name in refusals
 * Refuses: `merge_tag` for an incomplete tag, `invalid_field` for too many tags or too long a source.
 */
export function parseMerge(kind: MergeKind, source: string, field: string): MergeSource {
  if (source.length > MAX_MERGED_LENGTH)
    throw refuse('invalid_field', { field, expected: `at most ${MAX_MERGED_LENGTH} characters` })
  const pieces: MergeSource['pieces'] = []
  const scanner = kind === 'html' ? createHtmlScanner() : undefined
  let [from, tags] = [0, 0]
  for (let at = source.indexOf('{{{'); at !== -1; at = source.indexOf('{{{', from)) {
    // If there are four braces, the first one is text.
    while (source[at + 3] === '{') at++
    const tag = readTag(source, at, field)
    if (++tags > MAX_TAGS) throw refuse('invalid_field', { field, expected: `at most ${MAX_TAGS} tags` })
    const before = source.slice(from, at)
    if (before !== '') pieces.push(before)
    scanner?.read(before)
    pieces.push({ key: tag.key, fallback: tag.fallback, place: scanner?.place() ?? 'text' })
    from = at + tag.length
  }
  if (from < source.length) pieces.push(source.slice(from))
  return { kind, pieces }
}

function readTag(
  source: string,
  at: number,
  field: string,
): { key: string; fallback: string | null; length: number } {
  TAG.lastIndex = at
  const match = TAG.exec(source)
  const key = match?.[1]
  if (!match || !key || !KEY.test(key)) {
    const start = toOneLine(source.slice(at, at + 40)).toWellFormed()
    throw refuse('merge_tag', { field, start, example: '`{{{NAME}}}` or `{{{NAME|fallback}}}`' })
  }
  const fallback = match[2]?.trim() ?? ''
  return { key, fallback: fallback === '' ? null : fallback, length: match[0].length }
}

/** Returns the tags of sources, each key and fallback once, in order of first use. */
export function listTags(...sources: MergeSource[]): Omit<MergeTag, 'place'>[] {
  const found = new Map<string, Omit<MergeTag, 'place'>>()
  for (const piece of sources.flatMap(({ pieces }) => pieces)) {
    if (typeof piece === 'string') continue
    const { key, fallback } = piece
    found.set(`${key}|${fallback ?? ''}`, { key, fallback })
  }
  return [...found.values()]
}
