/** Checks a message's content and sender for deliverability problems. Pure. */
import { parseMailbox } from '../mail/address.ts'
import { sortByUrgency, createInsight, type Insight } from '../mail/insight.ts'
import { checkContent, type Message } from './content.ts'
import { parseHtml } from './html.ts'
import { checkLinks } from './links.ts'
import { checkSender, type SenderDomain } from './sender.ts'

export { extractLinks } from './link-list.ts'
export type { SenderDomain }

/**
 * Size above which receivers often refuse messages, in bytes: many limits are 10 to 25 MB, and encoding makes files a
 * third larger.
 */
const HEAVY = 10 * 1024 * 1024

/** Runs the checks that apply to every email. @param domain its From domain; undefined if it can't be used */
export function checkMessage(message: Message, domain: SenderDomain | undefined): Insight[] {
  const page = parseHtml(message.html)
  const own = parseMailbox(message.from)?.domain ?? ''
  return [...checkSender(message.from, domain), ...checkContent(message, page), ...checkLinks(page, own)]
}

/** Checks a single email; returns the most urgent insights first. @param size of the whole message in bytes */
export function checkSingleEmail(
  message: Message,
  domain: SenderDomain | undefined,
  size: number,
): Insight[] {
  const megabytes = Math.ceil(size / 1024 / 1024)
  return sortByUrgency([
    createInsight('sender', domain ? null : 'block', {
      note: 'The From domain doesn’t belong to this team.',
      why: 'It can’t be sent.',
      fix: 'Add the domain under Domains, or change the From address.',
      well: 'The domain belongs to this team.',
    }),
    ...checkMessage(message, domain),
    createInsight('weight', size > HEAVY ? 'attention' : null, {
      note: `The message has ${megabytes} MB.`,
      why: 'Many receivers refuse messages of more than 10 to 25 MB.',
      fix: 'Link to large files instead.',
      well: 'The message is small enough.',
    }),
  ])
}
