/**
 * Checks every element and style of an email with all blocks against the support of mail clients
 * (test/fixtures/caniemail.json).
 */
import { Parser } from 'htmlparser2'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compileDocument } from '../../../appliance/document/document.ts'
import { everything } from './samples.ts'

interface Support {
  clients: string[]
  features: Record<string, string>
}
const file = join(import.meta.dirname, '../../fixtures/caniemail.json')
const { clients, features } = JSON.parse(readFileSync(file, 'utf8')) as Support

/** Features that have another name in the table. */
const NAMES: Record<string, string> = {
  'html-h1': 'html-h1-h6',
  'html-h2': 'html-h1-h6',
  'html-h3': 'html-h1-h6',
  'html-ul': 'html-lists',
  'html-ol': 'html-lists',
  'html-li': 'html-lists',
  'html-tr': 'html-table',
  'html-td': 'html-table',
  'html-s': 'html-strike',
  'html-em': 'html-strong',
  'html-u': 'html-strong',
  'css-font-family': 'css-font',
  'css-border-left': 'css-border',
  'css-border-top': 'css-border',
}

/**
 * Not in the table: what every client has supported since HTML 3.2 and CSS 1, what isn't visible markup, and what only
 * Word reads.
 */
const OLD = new Set(
  (
    'html-a html-alt html-bgcolor html-border html-br html-class html-content html-head html-href html-html html-http-equiv ' +
    'html-meta html-name html-src html-start html-title html-xmlns html-xmlns:o html-xmlns:v html-xmlns:w css-color css-mso-hide'
  ).split(' '),
)

/**
 * Returns the features of the table that an email uses: elements, attributes and inline styles, except for those that
 * only Word reads.
 */
function used(html: string): Set<string> {
  const found = new Set<string>()
  const parser = new Parser({
    onopentag: (name, attributes) => {
      found.add(`html-${name}`)
      for (const [key, value] of Object.entries(attributes)) {
        if (key !== 'style') found.add(`html-${key}`)
        else for (const declaration of value.split(';')) found.add(`css-${declaration.split(':')[0]!}`)
      }
    },
  })
  parser.end(html.replaceAll(/<!--\[if mso\]>.*?<!\[endif\]-->/gs, '').replaceAll(/<style>.*?<\/style>/g, ''))
  return found
}

const { html } = compileDocument(everything())
const all = [...used(html)].filter((name) => !OLD.has(name)).map((name) => NAMES[name] ?? name)

test('every element and style of an email is in the caniemail table, or as old as HTML email itself', () => {
  expect(all.length).toBeGreaterThan(30)
  expect(all.filter((name) => !(name in features))).toEqual([])
})

/** Features that some client supports only partially, and why they are fine in emails. */
const IN_PART: Record<string, string> = {
  'css-display': 'Only `none`, `block` and `inline-block`, which all have; Word has a table instead.',
  'css-font-size': 'Word knows pixels, and no `rem`; the only `em` is that of code.',
  'css-font-weight': 'Only `bold`.',
  'css-height': 'Only `auto`, of images, which Word need not know: it has the width.',
  'css-line-height': 'Word has `mso-line-height-rule` in its style sheet.',
  'css-margin': 'Never negative; `auto` only of images, whose cell is aligned as well.',
  'css-max-width': 'Word has tables of the width.',
  'css-overflow': 'Only `hidden`, of the preheader, which `display` and `mso-hide` hide already.',
  'css-padding': 'Only of cells and lists, and of links where there is another form for Word.',
  'css-text-align': 'Only `left`, `right` and `center`.',
  'css-text-decoration': 'Only `underline` and `none`.',
  'css-width': 'Word takes the attribute.',
  'css-word-break': 'Long words are wider than the email.',
  'html-body': 'Webmail turns it into `div`; the table in it has the color.',
  'html-dir': 'Alignment is written out as well.',
  'html-height': 'Only of spacers, whose line is as high.',
  'html-lists': 'Only their indentation differs.',
  'html-role': 'Only `presentation`: layout tables are read as such.',
  'html-lang': 'Only pronunciation depends on it.',
  'html-strike': 'Only the line is missing.',
  'html-width': 'The style has it as well; Word takes the attribute of tables and images.',
  'css-border': 'Only solid lines.',
  'css-border-radius': 'Corners are square.',
}

/** Features that some client doesn't support at all, and why they are used. */
const NOT_AT_ALL: Record<string, string> = {
  'css-border-radius': 'Word: corners are square, but buttons are drawn in VML.',
  'css-max-height': 'Word: of the preheader, which `mso-hide` hides.',
  'css-overflow': 'Word: the same.',
  'css-word-break': 'Yahoo: long words are wider than the email.',
  'css-height': 'Yahoo: images keep their proportions by themselves.',
  'html-body': 'Yahoo: the table in it has the color.',
}

test.each(clients)('%s supports every feature that an email needs', (client) => {
  const at = clients.indexOf(client)
  const without = (letter: string): string[] => all.filter((name) => features[name]?.[at] === letter)
  expect(without('a').filter((name) => !(name in IN_PART))).toEqual([])
  expect(without('n').filter((name) => !(name in NOT_AT_ALL))).toEqual([])
  expect(without('u')).toEqual([])
})

/** The rules of the style sheets that aren't for Word alone. */
const rules = [
  ...html.replaceAll(/<!--\[if mso\]>.*?<!\[endif\]-->/gs, '').matchAll(/<style>(.*?)<\/style>/g),
].map(([, text]) => text!)

/** What style sheets may use, and the feature of the table. */
const SYNTAX: readonly [RegExp, string][] = [
  [/@media \(max-width:/, 'css-at-media'],
  [/@media \(prefers-color-scheme:/, 'css-at-media-prefers-color-scheme'],
  [/\.\w+\{/, 'css-selector-class'],
  [/\[[\w-]+\]/, 'css-selector-attribute'],
  [/\] \./, 'css-selector-descendant'],
  [/(?:^|\})(?:body|img)\{/, 'css-selector-type'],
  [/!important/, 'css-important'],
]

/** Why it is fine that some client drops it: what an email needs is inline. */
const IN_SHEETS: Record<string, string> = {
  'html-style': 'Gmail reads none in accounts of other providers.',
  'css-at-media': 'Columns are stacked by their width alone.',
  'css-at-media-prefers-color-scheme': 'The client keeps the light colors or applies its own dark mode.',
  'css-selector-class': 'Only for narrow and dark screens.',
  'css-selector-attribute': 'Only for Outlook, which sets the attributes.',
  'css-selector-descendant': 'The same.',
  'css-selector-type': 'Only resets of margins and borders, which are inline as well.',
  'css-important': 'Without it, the inline styles stay.',
}

test('style sheets use only features in the caniemail table, and an email can do without them', () => {
  const syntax = SYNTAX.filter(([pattern]) => rules.some((text) => pattern.test(text))).map(
    ([, name]) => name,
  )
  expect(['html-style', ...syntax].toSorted()).toEqual(Object.keys(IN_SHEETS).toSorted())
  expect(Object.keys(IN_SHEETS).filter((name) => !/[na]/.test(features[name] ?? ''))).toEqual([])
  // Nothing else is in them: what remains without the known syntax are properties.
  const bare = rules
    .join('')
    .replaceAll(/@media \((?:max-width:480px|prefers-color-scheme:dark)\)\{/g, '')
    .replaceAll(/(?:\[data-ogs[bc]\] )?(?:\.\w+|body|img|:root)\{([^{}]*)\}/g, '$1;')
    .replaceAll('!important', '')
  const properties = bare
    .replaceAll('}', '')
    .split(';')
    .filter(Boolean)
    .map((one) => `css-${one.split(':')[0]!}`)
  const known = (name: string) => (NAMES[name] ?? name) in features || OLD.has(name)
  expect(new Set(properties).size).toBeGreaterThan(5)
  expect(properties.filter((name) => !known(name))).toEqual([])
})

test('every listed exception is still needed', () => {
  const somewhere = (letter: string): ((name: string) => boolean) => {
    return (name) => all.includes(name) && features[name]!.includes(letter)
  }
  expect(Object.keys(IN_PART).filter((name) => !somewhere('a')(name))).toEqual([])
  expect(Object.keys(NOT_AT_ALL).filter((name) => !somewhere('n')(name))).toEqual([])
})
