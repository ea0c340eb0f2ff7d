/** Initial content of block documents. */

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

/** For templates. No unsubscribe link, since template emails are usually transactional. */
export const FIRST_TEMPLATE = { version: 1, content: GREETING }

/** For broadcasts, which require an unsubscribe link. */
export const FIRST_BROADCAST = {
  version: 1,
  content: [
    ...GREETING,
    { type: 'divider' },
    { type: 'footer', content: [{ type: 'text', text: 'Your company, your postal address' }] },
  ],
}
