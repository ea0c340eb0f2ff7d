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

/** Initial content of templates. It has no unsubscribe link, since template emails are usually transactional. */
export const INITIAL_TEMPLATE = { version: 1, content: GREETING }

/** Initial content of broadcasts, which require an unsubscribe link. */
export const INITIAL_BROADCAST = {
  version: 1,
  content: [
    ...GREETING,
    { type: 'divider' },
    { type: 'footer', content: [{ type: 'text', text: 'Your company, your postal address' }] },
  ],
}
