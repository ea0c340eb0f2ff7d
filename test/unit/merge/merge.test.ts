import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import {
  createContactValues,
  type MergeContact,
  type MergeKind,
  parseMerge,
  renderMerge,
  listTags,
} from '../../../appliance/merge/merge.ts'

const ADA: MergeContact = { email: 'ada@example.com', firstName: 'Ada', lastName: null, properties: {} }
const PROPERTIES = [
  { key: 'plan', fallback: 'free' },
  { key: 'seats', fallback: null },
]

const merge = (
  source: string,
  contact: Partial<MergeContact> = {},
  kind: MergeKind = 'html',
  link: string | null = 'https://mail.example.com/u/abc',
) =>
  renderMerge(parseMerge(kind, source, kind), createContactValues({ ...ADA, ...contact }, PROPERTIES, link))

describe('merge tags', () => {
  test.each([
    ['Hi {{{FIRST_NAME}}}', 'Hi Ada'],
    ['Hi {{{contact.first_name}}}', 'Hi Ada'],
    ['Hi {{{ contact.first_name | you }}}', 'Hi Ada'],
    ['Hi {{{LAST_NAME|friend}}}', 'Hi friend'],
    ['Hi {{{LAST_NAME}}}.', 'Hi .'],
    ['{{{EMAIL}}} {{{contact.email}}}', 'ada@example.com ada@example.com'],
    ['{{{plan}}} {{{contact.plan}}} {{{contact.properties.plan}}}', 'free free free'],
    ['{{{plan|none}}}', 'none'],
    ['{{{seats}}}.', '.'],
    ['{{{nobody|else}}}', 'else'],
    ['{{{UNSUBSCRIBE_URL}}}', 'https://mail.example.com/u/abc'],
    ['{{{RESEND_UNSUBSCRIBE_URL}}}', 'https://mail.example.com/u/abc'],
    ['{{{{FIRST_NAME}}}}', '{Ada}'],
    ['{{FIRST_NAME}} {x} }}}', '{{FIRST_NAME}} {x} }}}'],
    ['{{{FIRST_NAME}}}{{{FIRST_NAME}}}', 'AdaAda'],
    ['', ''],
  ])('merge tags in %s produce %s', (source, expected) => {
    for (const kind of ['html', 'text', 'header'] as const) expect(merge(source, {}, kind)).toBe(expected)
  })

  test.each([
    ['{{{first_name}}}', 'first_name'],
    ['{{{contact.unknown}}}', 'contact.unknown'],
    ['{{{constructor}}}', 'constructor'],
    ['{{{contact.properties.__proto__}}}', 'contact.properties.__proto__'],
  ])('rejects a merge tag without a value or fallback, by name: %s', (source, name) => {
    expect(() => merge(source)).toThrow(`Missing value for the variable \`${name}\``)
  })

  test('rejects a merge tag for an unsubscribe link that does not exist', () => {
    expect(() => merge('{{{UNSUBSCRIBE_URL}}}', {}, 'html', null)).toThrow('`UNSUBSCRIBE_URL`')
  })

  test.each([
    '{{{',
    '{{{ }}}',
    '{{{FIRST_NAME',
    '{{{FIRST_NAME}}',
    '{{{a b}}}',
    '{{{#each x}}}',
    '{{{a..b}}}',
    '{{{{{{A}}',
  ])('rejects a malformed merge tag when parsing: %s', (source) => {
    expect(() => parseMerge('html', `<p>${source}</p>`, 'html')).toThrow(
      'Invalid `html` field: the tag that starts with `{{{',
    )
  })

  test('lists merge tags once per key and fallback', () => {
    const html = parseMerge('html', '{{{A}}} {{{B|x}}} {{{A}}}', 'html')
    expect(listTags(html, parseMerge('header', '{{{A|y}}}', 'subject'))).toEqual([
      { key: 'A', fallback: null },
      { key: 'B', fallback: 'x' },
      { key: 'A', fallback: 'y' },
    ])
  })

  test('limits merge tags to 1000 per source', () => {
    expect(merge('{{{FIRST_NAME}}}'.repeat(1000))).toBe('Ada'.repeat(1000))
    expect(() => merge('{{{FIRST_NAME}}}'.repeat(1001))).toThrow('at most 1000 tags')
  })
})

const HOSTILE = `"><script>alert('1')</script>&`

describe('untrusted merge values', () => {
  test.each([
    ['<p>{{{FIRST_NAME}}}</p>', '<p>&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;</p>'],
    [
      '<img alt="{{{FIRST_NAME}}}">',
      '<img alt="&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;">',
    ],
    [
      '<img alt={{{FIRST_NAME}}}>',
      '<img alt=&#34;&#62;&#60;script&#62;alert&#40;&#39;1&#39;&#41;&#60;&#47;script&#62;&#38;>',
    ],
    ['<!-- {{{FIRST_NAME}}} -->', '<!-- &quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp; -->'],
    [
      '<a href="https://x.test/?n={{{FIRST_NAME}}}">',
      '<a href="https://x.test/?n=%22%3E%3Cscript%3Ealert(%271%27)%3C%2Fscript%3E%26">',
    ],
    ['<a href="{{{FIRST_NAME}}}">', '<a href="">'],
    ['<p style="color:{{{FIRST_NAME}}}">', '<p style="color:scriptalert1script">'],
    ['<p onclick="f({{{FIRST_NAME}}})">', '<p onclick="f(scriptalert1script)">'],
    ['<style>a{b:{{{FIRST_NAME}}}}</style>', '<style>a{b:scriptalert1script}</style>'],
    ['<script>x={{{FIRST_NAME}}}</script>', '<script>x=scriptalert1script</script>'],
    ['<{{{FIRST_NAME}}}>', '<scriptalert1script>'],
    ['<p {{{FIRST_NAME}}}=1>', '<p scriptalert1script=1>'],
  ])('escapes merge values for their context in %s', (source, expected) => {
    expect(merge(source, { firstName: HOSTILE })).toBe(expected)
  })

  test.each([
    [
      '<!--[if mso]><a href="{{{FIRST_NAME}}}">x</a><![endif]-->',
      '<!--[if mso]><a href="">x</a><![endif]-->',
    ],
    ['<!--><a href="{{{FIRST_NAME}}}">', '<!--><a href="">'],
    ["<title>a</title><a href='{{{FIRST_NAME}}}'>", "<title>a</title><a href=''>"],
    ['<style>p{}</STYLE ><a HREF = {{{FIRST_NAME}}}>', '<style>p{}</STYLE ><a HREF = >'],
    ['</style><a title="a > b" href="{{{FIRST_NAME}}}">', '</style><a title="a > b" href="">'],
    ['1 < 2 <a hidden href="{{{FIRST_NAME}}}">', '1 < 2 <a hidden href="">'],
    ['<br/><a\nhref="{{{FIRST_NAME}}}">', '<br/><a\nhref="">'],
  ])('merge values cannot create a script link in %s', (source, expected) => {
    expect(merge(source, { firstName: 'javascript:alert(1)' })).toBe(expected)
  })

  test('merge values can be web links and addresses', () => {
    const values = { firstName: 'https://example.com/a?b=1&c=2', lastName: 'a&b c' }
    expect(merge('<a href="{{{FIRST_NAME}}}">', values)).toBe('<a href="https://example.com/a?b=1&amp;c=2">')
    expect(merge('<a href="{{{UNSUBSCRIBE_URL}}}">')).toBe('<a href="https://mail.example.com/u/abc">')
    expect(merge('<a href="mailto:{{{EMAIL}}}?subject={{{LAST_NAME}}}">', values)).toBe(
      '<a href="mailto:ada@example.com?subject=a%26b%20c">',
    )
  })

  test('merge values are never parsed as merge tags', () => {
    const contact = { firstName: '{{{LAST_NAME}}}', lastName: '{{{EMAIL}}}' }
    for (const kind of ['html', 'text', 'header'] as const)
      expect(merge('{{{FIRST_NAME}}} {{{LAST_NAME}}}', contact, kind)).toBe('{{{LAST_NAME}}} {{{EMAIL}}}')
  })

  test('merge values cannot break a subject line, and direction marks are removed', () => {
    expect(
      merge('Hi {{{FIRST_NAME}}}!', { firstName: 'A\r\nBcc: x@y.test\u2028\u202Eb\u200F' }, 'header'),
    ).toBe('Hi A Bcc: x@y.test b!')
    expect(merge('{{{FIRST_NAME|a\r\nBcc: b}}}\r\nc', { firstName: null }, 'header')).toBe('a Bcc: b c')
    expect(merge('{{{FIRST_NAME}}}', { firstName: 'a\u202E\0\u0007b\nc\u2066' }, 'text')).toBe('ab\nc')
  })

  test('merge values are truncated in a subject, and an overlong subject is rejected', () => {
    const subject = merge('{{{FIRST_NAME}}}!', { firstName: '😀'.repeat(2000) }, 'header')
    expect(subject).toBe(`${'😀'.repeat(199)}…!`)
    expect(() => merge(`${'x'.repeat(990)}{{{FIRST_NAME}}}`, { firstName: '123456789' }, 'header')).toThrow(
      'more than 998 characters',
    )
  })

  test('rejects merge values that make the result too large', () => {
    const firstName = 'x'.repeat(10_000)
    expect(() => merge('{{{FIRST_NAME}}}'.repeat(1000), { firstName })).toThrow(
      'more than 8388608 characters',
    )
  })
})

const anyText = fc.string({ unit: 'binary', maxLength: 60 })
const nasty = fc.array(
  fc.constantFrom(
    '{{{',
    '}}}',
    '<',
    '>',
    '"',
    "'",
    '&',
    '\r\n',
    '\u202E',
    '{{{EMAIL}}}',
    '<!--',
    '-->',
    'a',
    ' ',
    '=',
  ),
  { maxLength: 20 },
)
const value = fc.oneof(
  anyText,
  nasty.map((parts) => parts.join('')),
)

describe('merging arbitrary values', () => {
  test('merging does not change tags and attributes of HTML', () => {
    const source =
      '<p title="{{{FIRST_NAME}}}" lang={{{FIRST_NAME}}}>{{{FIRST_NAME}}}<b style=\'x:{{{FIRST_NAME}}}\'>!</b>'
    const shape = /^<p title="[^"<>]*" lang=[^\s"'<>=`]*>[^<>]*<b style='x:[^'"<>;:()]*'>!<\/b>$/
    fc.assert(fc.property(value, (firstName) => shape.test(merge(source, { firstName }))))
  })

  test('merging keeps a header value on one line', () => {
    fc.assert(
      fc.property(value, (firstName) => {
        const subject = merge('a{{{FIRST_NAME|x}}}b', { firstName }, 'header')
        return !/[\r\n\0\u2028\u2029\u202A-\u202E]/.test(subject) && /^a.*b$/su.test(subject)
      }),
    )
  })

  test('merging keeps printable ASCII in text', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[ -~]{1,50}$/), (firstName) => {
        expect(merge('{{{FIRST_NAME}}}', { firstName }, 'text')).toBe(firstName)
      }),
    )
  })
})

describe('parsing arbitrary templates', () => {
  const source = fc.oneof(
    anyText,
    fc
      .array(
        fc.constantFrom(
          '{{{FIRST_NAME}}}',
          '{{{',
          '}}}',
          '<a href="',
          '"',
          '>',
          '<',
          '<!--',
          '<style>',
          '</style>',
          ' x=',
          '|',
          'A',
          '</',
        ),
        { maxLength: 30 },
      )
      .map((parts) => parts.join('')),
  )

  test('parsing a template loses nothing, or rejects it', () => {
    fc.assert(
      fc.property(source, (text) => {
        let parsed
        try {
          parsed = parseMerge('html', text, 'html')
        } catch (error) {
          expect(String(error)).toContain('the tag that starts with')
          return
        }
        const written = parsed.pieces.map((piece) => (typeof piece === 'string' ? piece : '{{{FIRST_NAME}}}'))
        if (!text.includes('|'))
          expect(written.join('').replaceAll(/\{\{\{[ \t]*(\w+)[ \t]*\}\}\}/g, '{{{FIRST_NAME}}}')).toBe(
            text.replaceAll(/\{\{\{[ \t]*([\w.]+)[ \t]*\}\}\}/g, '{{{FIRST_NAME}}}'),
          )
      }),
    )
  })

  test('parsing takes linear time for large templates', () => {
    const cost = (text: string): number => {
      const start = process.cpuUsage()
      try {
        parseMerge('html', text, 'html')
      } catch {
        // Rejected sources count, too.
      }
      const { user, system } = process.cpuUsage(start)
      return user + system
    }
    for (const part of [
      '{{{',
      '<',
      '<!--',
      '<style></',
      '<a href=',
      '{{{A|',
      '"',
      '</',
      'x=',
      '<a b',
      '<a ',
    ]) {
      cost(part.repeat(10_000))
      // A quadratic reader would need minutes.
      expect(cost(part.repeat(500_000)), part).toBeLessThan(5_000_000)
    }
  })
})
