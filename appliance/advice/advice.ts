/** Advice on the deliverability of a message: from its content, and from what is known of its sender. Pure. */
import { parseMailbox } from '../mail/address.ts'
import { byUrgency, insight, type Insight } from '../mail/insight.ts'
import { checkContent, type Message } from './content.ts'
import { readPage } from './html.ts'
import { checkLinks } from './links.ts'
import { checkSender, type SenderDomain } from './sender.ts'

export { linksOf } from './link-list.ts'
export type { SenderDomain }

/** Receivers often refuse larger messages (bytes): many limits are 10 to 25 MB, files count a third more encoded. */
const HEAVY = 10 * 1024 * 1024

/** Checks what any email should keep to. @param domain its From domain; undefined if it can't be used */
export function checkMessage(message: Message, domain: SenderDomain | undefined): Insight[] {
  const page = readPage(message.html)
  const own = parseMailbox(message.from)?.domain ?? ''
  return [...checkSender(message.from, domain), ...checkContent(message, page), ...checkLinks(page, own)]
}

/** Checks a single email, the most urgent insights first. @param size of the whole message in bytes */
export function adviseOn(message: Message, domain: SenderDomain | undefined, size: number): Insight[] {
  const megabytes = Math.ceil(size / 1024 / 1024)
  return byUrgency([
    insight('sender', domain ? null : 'block', {
      note: 'The From domain doesn’t belong to this team.',
      why: 'It can’t be sent.',
      fix: 'Add the domain under Domains, or change the From address.',
      well: 'The domain belongs to this team.',
    }),
    ...checkMessage(message, domain),
    insight('weight', size > HEAVY ? 'attention' : null, {
      note: `The message has ${megabytes} MB.`,
      why: 'Many receivers refuse messages of more than 10 to 25 MB.',
      fix: 'Link to large files instead.',
      well: 'The message is small enough.',
    }),
  ])
}
