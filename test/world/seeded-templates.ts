import type { TestAppliance } from './appliance.ts'
import { SHOP } from './seeded-mail.ts'

/** Creates a published template with unpublished changes. Returns its ID. */
export async function seedTemplate(posthaste: TestAppliance): Promise<string> {
  const made = await posthaste.call<{ id: string }>('POST', '/templates', {
    name: 'Order confirmation',
    alias: 'order-confirmation',
    from: `Shop <shop@${SHOP}>`,
    subject: 'Your order {{{NUMBER}}}',
    text: 'Thank you for {{{TITLE}}}.',
    html: '<h1>Thank you, {{{contact.first_name|reader}}}</h1><p>{{{TITLE}}} is on its way.</p>',
    variables: [
      { key: 'NUMBER', type: 'number' },
      { key: 'TITLE', type: 'string', fallback_value: 'Your book' },
    ],
  })
  const { id } = made.body
  await posthaste.call('POST', `/templates/${id}/publish`)
  await posthaste.call('PATCH', `/templates/${id}`, { subject: 'Your order {{{NUMBER}}} of {{{DAY}}}' })
  return id
}

/** Creates a template made of blocks. Returns its ID. */
export async function seedBlocks(posthaste: TestAppliance): Promise<string> {
  const text = (words: string) => ({ type: 'text', text: words })
  const paragraph = (...content: object[]) => ({ type: 'paragraph', content })
  const name = { type: 'variable', attrs: { key: 'contact.first_name', fallback: 'reader' } }
  const column = (title: string, about: string) => ({
    type: 'column',
    content: [{ type: 'heading', attrs: { level: 3 }, content: [text(title)] }, paragraph(text(about))],
  })
  const content = [
    { type: 'heading', attrs: { level: 1 }, content: [text('Welcome aboard')] },
    paragraph(
      text('Dear '),
      name,
      text(', your first order comes without postage. Two books to begin with:'),
    ),
    {
      type: 'columns',
      content: [
        column('The Salt Path', 'A walk of 630 miles along the coast.'),
        column('Tide', 'How the moon moves the sea, and us.'),
      ],
    },
    {
      type: 'button',
      attrs: { href: `https://${SHOP}/new` },
      content: [text('See what is new')],
    },
    { type: 'divider' },
    { type: 'footer', content: [text('Harbour Books, 3 Quay Street, Port Ellen')] },
  ]
  const made = await posthaste.call<{ id: string }>('POST', '/templates', {
    name: 'Welcome',
    subject: 'Welcome to Harbour Books',
    document: { version: 1, content },
  })
  return made.body.id
}
