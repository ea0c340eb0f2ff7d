/** What new content of blocks starts with. */

const GREETING = [
  { type: 'heading', attrs: { level: 1 }, content: [{ type: 'text', text: 'A heading' }] },
  {
    type: 'paragraph',
    content: [
      { type: 'text', text: 'Hi ' },
      { type: 'variable', attrs: { key: 'contact.first_name', fallback: 'there' } },
      { type: 'text', text: ',' },
    ],
  },
  { type: 'paragraph' },
]

/** For a template: its emails are answers to what people do, so they have no unsubscribe link. */
export const FIRST_TEMPLATE = { version: 1, content: GREETING }

/** For a broadcast, which isn't sent without an unsubscribe link. */
export const FIRST_BROADCAST = {
  version: 1,
  content: [
    ...GREETING,
    { type: 'divider' },
    { type: 'footer', content: [{ type: 'text', text: 'Your company, your postal address' }] },
  ],
}
