import { refuse } from '../mail/refusals.ts'
import type { DocumentNode, EmailDocument, Mark } from './model.ts'
import { type Attribute, BLOCKS, MARKS, MAX_DOCUMENT, NODES } from './grammar.ts'
import { DEFAULT_THEME, FONTS, type Theme } from './theme.ts'
import { integerBetween, color, line, oneOf, type ValueParser, text } from './values.ts'

type Fields = Record<string, unknown>

const wrong = (field: string, expected: string): Error => refuse('invalid_field', { field, expected })

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function fieldsOf(value: unknown, field: string, known: readonly string[]): Fields {
  if (!isFields(value)) throw wrong(field, 'an object')
  const other = Object.keys(value).find((key) => !known.includes(key))
  if (other !== undefined) throw wrong(`${field}.${other.slice(0, 50)}`, `one of ${known.join(', ')}`)
  return value
}

function read<T>({ read, expected }: ValueParser<T>, value: unknown, field: string): T {
  const found = read(value)
  if (found === undefined) throw wrong(field, expected)
  return found
}

const language: ValueParser<string> = {
  read: (value) =>
    typeof value === 'string' && /^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/.test(value) ? value : undefined,
  expected: 'a language tag such as `en` or `pt-BR` (BCP 47)',
}

const colors = { background: color, surface: color, text: color, link: color }
const look = {
  ...colors,
  width: integerBetween(400, 800),
  accent: color,
  accentText: color,
  font: oneOf(...(Object.keys(FONTS) as (keyof typeof FONTS)[])),
  fontSize: integerBetween(12, 20),
  radius: integerBetween(0, 24),
}

function readTheme(given: unknown, field: string): Theme {
  const fields = fieldsOf(given ?? {}, field, [...Object.keys(look), 'dark'])
  const theme: Fields = { ...DEFAULT_THEME }
  for (const [name, reader] of Object.entries<ValueParser<unknown>>(look))
    if (fields[name] !== undefined) theme[name] = read(reader, fields[name], `${field}.${name}`)
  if (fields.dark === null) return { ...(theme as unknown as Theme), dark: null }
  const dark: Fields = { ...DEFAULT_THEME.dark }
  const darkFields = fieldsOf(fields.dark ?? {}, `${field}.dark`, Object.keys(colors))
  for (const [name, value] of Object.entries(darkFields))
    dark[name] = read(color, value, `${field}.dark.${name}`)
  return { ...(theme as unknown as Theme), dark: dark as unknown as Theme['dark'] }
}

/** Counters of a walk through a document. */
interface Walk {
  nodes: number
}

function readAttributes(rules: Record<string, Attribute>, given: unknown, field: string): Fields {
  const fields = fieldsOf(given ?? {}, field, Object.keys(rules))
  const entries = Object.entries(rules).map(([name, { reader, initial }]) => [
    name,
    read(reader, fields[name] === undefined ? initial : fields[name], `${field}.${name}`),
  ])
  return Object.fromEntries(entries) as Fields
}

function readMarks(given: unknown, field: string): Mark[] {
  if (!Array.isArray(given) || given.length > 10) throw wrong(field, 'a list of at most 10 marks')
  return given.map((one: unknown, at) => {
    const path = `${field}[${at}]`
    const { type, attrs } = fieldsOf(one, path, ['type', 'attrs'])
    const rules = typeof type === 'string' && Object.hasOwn(MARKS, type) ? MARKS[type] : undefined
    if (!rules) throw wrong(`${path}.type`, `one of ${Object.keys(MARKS).join(', ')}`)
    const mark = { type: type as string }
    const read = readAttributes(rules, attrs, `${path}.attrs`)
    return Object.keys(read).length > 0 ? { ...mark, attrs: read } : mark
  })
}

function readText(fields: Fields, field: string, plain: boolean): DocumentNode {
  const found = read(text(20_000), fields.text, `${field}.text`)
  if (found === '') throw wrong(`${field}.text`, 'a text that is not empty')
  const marks = fields.marks === undefined ? [] : readMarks(fields.marks, `${field}.marks`)
  if (plain && marks.length > 0) throw wrong(`${field}.marks`, 'no marks in this block')
  return marks.length > 0 ? { type: 'text', text: found, marks } : { type: 'text', text: found }
}

/** Where a node is, and what is allowed there. */
interface Place {
  field: string
  depth: number
  allowed: readonly string[]
  plain: boolean
}

function readNode(given: unknown, { field, depth, allowed, plain }: Place, walk: Walk): DocumentNode {
  if (++walk.nodes > MAX_DOCUMENT.nodes) throw wrong('document', `at most ${MAX_DOCUMENT.nodes} nodes`)
  if (depth > MAX_DOCUMENT.depth) throw wrong('document', `at most ${MAX_DOCUMENT.depth} levels`)
  const fields = fieldsOf(given, field, ['type', 'attrs', 'content', 'marks', 'text'])
  const type = typeof fields.type === 'string' ? fields.type : ''
  if (!allowed.includes(type)) throw wrong(`${field}.type`, `one of ${allowed.join(', ') || 'none'}`)
  if (type === 'text') return readText(fields, field, plain)
  const rule = NODES[type]!
  const node: DocumentNode = { type }
  const attrs = readAttributes(rule.attrs, fields.attrs, `${field}.attrs`)
  if (Object.keys(attrs).length > 0) node.attrs = attrs
  if (fields.marks !== undefined && type === 'variable' && !plain)
    node.marks = readMarks(fields.marks, `${field}.marks`)
  const content = fields.content ?? []
  const { least, most } = rule.children ?? { least: 0, most: MAX_DOCUMENT.nodes }
  if (!Array.isArray(content) || content.length < least || content.length > most)
    throw wrong(`${field}.content`, `a list of ${least} to ${most} nodes`)
  const inside = { depth: depth + 1, allowed: rule.content, plain: rule.plain === true }
  const read = content.map((one, at) => readNode(one, { field: `${field}.content[${at}]`, ...inside }, walk))
  if (read.length > 0) node.content = read
  return node
}

/** Refuses two footers, which would have two unsubscribe links. */
function demandOneFooter(content: readonly DocumentNode[], field: string): void {
  const footers = content.filter(({ type }) => type === 'footer').length
  if (footers > 1) throw wrong(`${field}.content`, 'at most one footer')
}

const KEYS = ['version', 'language', 'direction', 'preheader', 'theme', 'content'] as const

/**
 * Validates an untrusted document: fills in defaults, and refuses everything that isn't allowed. Refuses:
 * `invalid_field`, with the path of the value.
 * @param field the caller's name of the document
 */
export function checkDocument(given: unknown, field = 'document'): EmailDocument {
  const fields = fieldsOf(given, field, KEYS)
  read(oneOf(1), fields.version, `${field}.version`)
  if (!Array.isArray(fields.content)) throw wrong(`${field}.content`, 'a list of blocks')
  const walk = { nodes: 0 }
  const content = fields.content.map((one: unknown, at) =>
    readNode(one, { field: `${field}.content[${at}]`, depth: 1, allowed: BLOCKS, plain: false }, walk),
  )
  demandOneFooter(content, field)
  const document: EmailDocument = {
    version: 1,
    language: read(language, fields.language ?? 'en', `${field}.language`),
    direction: read(oneOf('ltr', 'rtl'), fields.direction ?? 'ltr', `${field}.direction`),
    preheader: read(line(300), fields.preheader ?? '', `${field}.preheader`),
    theme: readTheme(fields.theme, `${field}.theme`),
    content,
  }
  // Done after the walk, because only a document of limited depth can safely be serialized.
  const bytes = new TextEncoder().encode(JSON.stringify(document)).length
  if (bytes > MAX_DOCUMENT.bytes) throw wrong(field, `at most ${MAX_DOCUMENT.bytes} bytes of JSON`)
  return document
}
