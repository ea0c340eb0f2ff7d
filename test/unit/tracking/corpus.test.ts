import { parse as parseAs, type DefaultTreeAdapterTypes as Tree } from 'parse5'
import { expect, test } from 'vitest'
import { normalizeLink, trackHtml, type TrackingPlan } from '../../../appliance/tracking/rewrite.ts'
import { verifyToken } from '../../../appliance/tracking/tokens.ts'
import { corpus } from './corpus.ts'

/** Parses tracked HTML with an independent parser (parse5) and compares it, node by node, with the original. */

const ORIGIN = 'https://links.shop.test'
const plan: TrackingPlan = {
  secret: new Uint8Array(32).fill(3),
  emailId: '01980000-0000-7000-8000-000000000001',
  origin: ORIGIN,
  opens: true,
  clicks: true,
  leave: [],
}

/** Mail programs run no scripts, which affects the content of `noscript`. */
const parse = (html: string) => parseAs(html, { scriptingEnabled: false })

const isParent = (node: Tree.Node): node is Tree.ParentNode => 'childNodes' in node
const isPixel = (node: Tree.Node): boolean =>
  node.nodeName === 'img' && valueOf(node, 'src')?.startsWith(`${ORIGIN}/o/`) === true
const valueOf = (element: Tree.Element, name: string) =>
  element.attrs.find((attribute) => attribute.name === name)?.value

/**
 * Restores links to the targets in their tokens, and removes the pixel along with formatting elements that were
 * reopened only for it.
 */
function restore(node: Tree.Node, seen: { links: number; pixels: number }): void {
  if ('attrs' in node)
    for (const attribute of node.attrs) {
      if (attribute.name !== 'href' || !attribute.value.startsWith(`${ORIGIN}/l/`)) continue
      seen.links += 1
      attribute.value = verifyToken(plan.secret, 'click', attribute.value.slice(ORIGIN.length + 3))!.link
    }
  if (node.nodeName === 'template') restore((node as Tree.Template).content, seen)
  if (!isParent(node)) return
  for (const child of [...node.childNodes]) restore(child, seen)
  const holds = node.childNodes.some((child) => isPixel(child) || 'emptied' in child)
  seen.pixels += node.childNodes.filter(isPixel).length
  node.childNodes = node.childNodes.filter((child) => !isPixel(child) && !('emptied' in child))
  const formatting = ['a', 'b', 'i', 'font', 'center'].includes(node.nodeName)
  if (holds && formatting && node.childNodes.length === 0) Object.assign(node, { emptied: true })
}

/** Prints a document as lines, with tracked links as browsers read them. Joins texts that the pixel separated. */
function linesOf(node: Tree.Node, depth = 0): string[] {
  const at = '.'.repeat(depth)
  if (node.nodeName === '#text') return [`${at}"${(node as Tree.TextNode).value}"`]
  if (node.nodeName === '#comment') return [`${at}<!--${(node as Tree.CommentNode).data}-->`]
  const attributes = 'attrs' in node ? node.attrs.map((one) => `${one.name}=${linkOf(node, one)}`) : []
  const inside = node.nodeName === 'template' ? [(node as Tree.Template).content] : []
  const children = isParent(node) ? [...inside, ...node.childNodes] : []
  return [
    `${at}${node.nodeName} ${attributes.join(' ')}`,
    ...join(children.flatMap((one) => linesOf(one, depth + 1))),
  ]
}

const linkOf = ({ nodeName }: Tree.Element, { name, value }: { name: string; value: string }): string =>
  (nodeName === 'a' || nodeName === 'area') && name === 'href' ? (normalizeLink(value) ?? value) : value

const join = (lines: string[]): string[] =>
  lines.reduce<string[]>((all, line) => {
    const [last, both] = [all.at(-1), /^(\.*)"/.exec(line)]
    if (last !== undefined && both && last.startsWith(both[0]) && last.endsWith('"'))
      all[all.length - 1] = last.slice(0, -1) + line.slice(both[0].length)
    else all.push(line)
    return all
  }, [])

const cases = corpus()

test('the corpus has at least 200 templates', () => {
  expect(new Set(cases).size).toBeGreaterThanOrEqual(200)
})

test('tracking changes only the links of the parsed templates, and adds the pixel', () => {
  const seen = { links: 0, pixels: 0 }
  for (const html of cases) {
    const tracked = trackHtml(html, plan)
    const tree = parse(tracked)
    restore(tree, seen)
    expect(linesOf(tree), html).toEqual(linesOf(parse(html)))
  }
  expect(seen.links).toBeGreaterThan(2400)
  expect(seen.pixels).toBeGreaterThan(300)
})

test('tracking keeps every other character of the templates', () => {
  for (const html of cases) {
    const places = /https:\/\/links\.shop\.test\/l\/[\w-]+|<img src="https:\/\/links\.shop\.test\/o\/[^>]*>/g
    let rest = html
    for (const piece of trackHtml(html, plan).split(places)) {
      const at = rest.indexOf(piece)
      expect(at, html).toBeGreaterThanOrEqual(0)
      rest = rest.slice(at + piece.length)
    }
  }
})
