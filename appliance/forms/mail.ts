/**
 * The confirmation email of a sign-up form. Pure. It contains no text that the visitor typed, so forms can't be abused
 * to send messages to others.
 */
import type { Submission } from '../intake/intake.ts'
import type { Mailbox } from '../mail/address.ts'
import type { Form } from '../mail/form.ts'
import { escapeHtml } from '../mail/page-frame.ts'
import { pickTextColor, type PageLanguage, type UnsubscribePage } from '../mail/unsubscribe-page.ts'
import { SIGN_UP_TEXTS } from './texts.ts'

export interface ConfirmationMail {
  form: Pick<Form, 'words'>
  team: string
  page: Pick<UnsubscribePage, 'accent' | 'postalAddress'>
  language: PageLanguage
  from: Mailbox
  to: Mailbox
  /** URL of the confirmation page. */
  url: string
}

const TEXT = 'margin:0 0 16px;font:15px/1.5 system-ui,sans-serif'

/** Creates the email. It is private and isn't tracked, because its link makes a decision for the recipient. */
export function createConfirmationMail(mail: ConfirmationMail): Submission {
  const { form, team, language, from, to } = mail
  const words = SIGN_UP_TEXTS[language]
  const subject = form.words[language]?.subject ?? words.subject(team)
  return {
    from,
    to: [to],
    cc: [],
    bcc: [],
    replyTo: [],
    subject,
    html: htmlOf(mail, subject),
    text: textOf(mail),
    // RFC 3834 §5: vacation responders must not reply to it.
    headers: [{ name: 'Auto-Submitted', value: 'auto-generated' }],
    attachments: [],
    links: [],
    messageId: null,
    tags: [{ name: 'form', value: 'confirmation' }],
    scheduledAt: null,
    stream: 'transactional',
    topicId: null,
    notice: true,
  }
}

function textOf({ form, team, language, page, url }: ConfirmationMail): string {
  const words = SIGN_UP_TEXTS[language]
  const parts = [
    form.words[language]?.message ?? words.message(team),
    `${words.confirm}:\n${url}`,
    words.validity,
    words.ignore,
    ...(page.postalAddress === null ? [] : [`-- \n${page.postalAddress}`]),
  ]
  return `${parts.join('\n\n')}\n`
}

/** Styles are inline, because many mail readers ignore other styles. */
function htmlOf({ form, team, language, page, url }: ConfirmationMail, subject: string): string {
  const words = SIGN_UP_TEXTS[language]
  const lines = (text: string): string => escapeHtml(text).replaceAll('\n', '<br>')
  const paragraph = (text: string, more = '') => `<p style="${TEXT}${more}">${lines(text)}</p>`
  const button = `display:inline-block;padding:10px 18px;border-radius:6px;background:${page.accent};color:${pickTextColor(page.accent)};font:600 15px/1.3 system-ui,sans-serif;text-decoration:none`
  return [
    `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head>`,
    '<body style="margin:0;padding:24px"><div style="max-width:560px">',
    paragraph(form.words[language]?.message ?? words.message(team)),
    `<p style="${TEXT}"><a href="${escapeHtml(url)}" style="${button}">${escapeHtml(words.confirm)}</a></p>`,
    paragraph(url, ';color:#666666;word-break:break-all'),
    paragraph(words.validity),
    paragraph(words.ignore),
    page.postalAddress === null ? '' : paragraph(page.postalAddress, ';color:#666666'),
    '</div></body></html>',
  ].join('\n')
}
