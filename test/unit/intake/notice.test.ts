import { describe, expect, test } from 'vitest'
import type { Notice } from '../../../appliance/intake/intake.ts'
import { formatNoticeHtml, formatNoticeText } from '../../../appliance/intake/notice-mail.ts'

const notice: Notice = {
  kind: 'password_reset',
  to: 'ada@example.com',
  subject: 'A <link>',
  paragraphs: ['Hello & "welcome".', "It's here:"],
  action: { label: 'Open', url: 'https://mail.example.com/dashboard/reset#a-b_c?x=1&y=<2>' },
  after: ['It holds for 30 minutes.'],
}

describe('a notice email', () => {
  test('a notice is readable as plain text, with the link on its own line', () => {
    expect(formatNoticeText(notice, 'mail.example.com')).toBe(
      [
        'Hello & "welcome".',
        '',
        "It's here:",
        '',
        'Open:',
        'https://mail.example.com/dashboard/reset#a-b_c?x=1&y=<2>',
        '',
        'It holds for 30 minutes.',
        '',
        '-- ',
        'Sent by the Posthaste server mail.example.com',
        '',
      ].join('\n'),
    )
  })

  test('a notice escapes markup and loads no external content', () => {
    const html = formatNoticeHtml(notice, 'mail.example.com')
    expect(html).toContain('<title>A &#60;link&#62;</title>')
    expect(html).toContain('Hello &#38; &#34;welcome&#34;.')
    expect(html).toContain('href="https://mail.example.com/dashboard/reset#a-b_c?x=1&#38;y=&#60;2&#62;"')
    expect(html).not.toMatch(/<img|<link|<script|url\(|src=/)
  })

  test('a notice has no button without a link', () => {
    expect(formatNoticeHtml({ ...notice, action: null }, 'mail.example.com')).not.toContain('<a ')
  })
})
