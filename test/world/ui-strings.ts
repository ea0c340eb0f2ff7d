import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'svelte/compiler'
import ts from 'typescript'

/** A text that the dashboard shows to users. */
export interface UiString {
  /** Path relative to the project. */
  file: string
  line: number
  /** Whitespace is collapsed to single spaces. `…` stands for an interpolated value. */
  text: string
}

/** Attributes whose values users don't see. */
const SILENT =
  /^(class|style|href|src|id|for|name|type|role|d|viewBox|points|transform|fill|stroke.*|data-.*|autocomplete|inputmode|pattern|rel|target|scope|method|key|param|page|look|kind|accept|aria-(live|controls|describedby|labelledby|current|haspopup|autocomplete|activedescendant|owns|expanded|hidden|modal|sort))$/

const PROJECT = join(import.meta.dirname, '..', '..')
const squeeze = (text: string): string => text.replace(/\s+/g, ' ').trim()
/** Prose has two words or starts with a capital letter. The rest are keys, paths and styles. */
const isProse = (text: string): boolean =>
  /[a-zA-Z]{2}/.test(text) &&
  !/^[a-z]+(-[a-z0-9]+)*$/.test(text) &&
  !/^[\w.$-]+(\/|:\/\/|@)/.test(text) &&
  !/^[/.#?&[<*:@-]/.test(text) &&
  !/^[A-Z_0-9]+$/.test(text) &&
  !/(^| )(var|calc|minmax|rgb|translate)\(|[{};]|=>|::|(^|\W)\[data-/.test(text) &&
  (/\s/.test(text) || /^[A-Z][a-z]/.test(text))

/** Imports, types, comparisons and cache keys are not shown to users. */
const isSilent = (node: ts.Node): boolean =>
  ts.isImportDeclaration(node) ||
  (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) ||
  ts.isTypeNode(node) ||
  (ts.isBinaryExpression(node) && /^[!=]==$/.test(node.operatorToken.getText())) ||
  (ts.isPropertyAssignment(node) && node.name.getText() === 'key')

/** Collects literals and templates from TypeScript. */
function ofScript(file: string, source: string, firstLine: number): UiString[] {
  const found: UiString[] = []
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true)
  const visit = (node: ts.Node): void => {
    if (isSilent(node)) return
    const text =
      ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)
        ? node.text
        : ts.isTemplateExpression(node)
          ? [node.head.text, ...node.templateSpans.map((span) => span.literal.text)].join('…')
          : null
    if (text !== null && isProse(squeeze(text))) {
      const { line } = tree.getLineAndCharacterOfPosition(node.getStart(tree))
      found.push({ file, line: firstLine + line, text: squeeze(text) })
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return found
}

interface Node {
  type: string
  start: number
  end: number
  name?: string
  data?: string
  nodes?: Node[]
  [key: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'

const INLINE = new Set(['Text', 'ExpressionTag', 'RegularElement', 'Component'])
const WORDS = new Set(['a', 'b', 'strong', 'em', 'code', 'span', 'kbd', 'abbr'])

/** Joins runs of nodes: text and inline elements become one string, with expressions as `…`. */
function runs(nodes: Node[]): { start: number; text: string }[] {
  const all: { start: number; text: string }[] = []
  let open: { start: number; text: string } | null = null
  for (const node of nodes) {
    const inline =
      INLINE.has(node.type) &&
      (node.type !== 'RegularElement' || WORDS.has(node.name!)) &&
      (node.type !== 'Component' || node.name === 'Time')
    if (!inline) {
      open = null
      continue
    }
    const text =
      node.type === 'Text'
        ? node.data!
        : node.type === 'RegularElement'
          ? runs((node.fragment as Node).nodes!)
              .map((run) => run.text)
              .join(' ')
          : '…'
    if (open) open.text += text
    else all.push((open = { start: node.start, text }))
  }
  return all
}

function ofSvelte(file: string, source: string): UiString[] {
  const root = parse(source, { modern: true }) as unknown as {
    fragment: Node
    instance: Node | null
    module: Node | null
  }
  const lineOf = (at: number): number => source.slice(0, at).split('\n').length
  const found: UiString[] = []
  const say = (start: number, text: string): void => {
    if (isProse(squeeze(text)) && /[a-zA-Z]{2}/.test(text.replaceAll('…', '')))
      found.push({ file, line: lineOf(start), text: squeeze(text) })
  }
  const script = (node: Node): void => {
    found.push(...ofScript(file, source.slice(node.start, node.end), lineOf(node.start)))
  }
  const attribute = (node: Node): void => {
    if (SILENT.test(node.name!)) return
    const value = (Array.isArray(node.value) ? node.value : [node.value]) as (Node | boolean)[]
    const parts = value.filter(isNode)
    if (parts.some(({ type }) => type === 'Text'))
      say(node.start, parts.map((part) => part.data ?? '…').join(''))
    for (const part of parts) if (part.type === 'ExpressionTag') script(part.expression as Node)
  }
  const visit = (node: Node): void => {
    if (node.type === 'Attribute') return attribute(node)
    if (
      node.type === 'ExpressionTag' ||
      node.type === 'RenderTag' ||
      node.type === 'ConstTag' ||
      node.type === 'HtmlTag'
    )
      return script((node.expression ?? node.declaration) as Node)
    if (node.type === 'Fragment') for (const { start, text } of runs(node.nodes!)) say(start, text)
    for (const [key, value] of Object.entries(node))
      if (key !== 'expression' && key !== 'test' && key !== 'metadata')
        for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child)
  }
  visit(root.fragment)
  for (const part of [root.instance, root.module])
    if (part) script((part as unknown as { content: Node }).content)
  return found
}

/** Returns every text of the dashboard, file by file. Repeated single-line texts are listed once. */
export function uiStrings(): UiString[] {
  const files = readdirSync(join(PROJECT, 'ui/src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(ts|svelte)$/.test(file),
  )
  const all = files.toSorted().flatMap((name) => {
    const file = join('ui/src', name)
    const source = readFileSync(join(PROJECT, file), 'utf8')
    return name.endsWith('.ts') ? ofScript(file, source, 1) : ofSvelte(file, source)
  })
  return [...new Map(all.map((one) => [`${one.file}:${one.line}:${one.text}`, one])).values()]
}
