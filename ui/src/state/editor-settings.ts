/** A setting of a block: the label and control of an attribute (`grammar.ts`). */
export interface Setting {
  name: string
  label: string
  kind: 'align' | 'line' | 'number' | 'color' | 'check' | 'image' | 'links' | 'level'
  hint?: string
  /** The value of an empty field. */
  empty?: string | number | null
}

const align: Setting = { name: 'align', label: 'Alignment', kind: 'align' }
const href = (hint = ''): Setting => ({ name: 'href', label: 'Link', kind: 'line', hint })

export const SETTINGS: Record<string, { title: string; settings: Setting[] }> = {
  paragraph: { title: 'Text', settings: [align] },
  heading: { title: 'Heading', settings: [{ name: 'level', label: 'Level', kind: 'level' }, align] },
  orderedList: {
    title: 'Numbered list',
    settings: [{ name: 'start', label: 'First number', kind: 'number' }],
  },
  bulletList: { title: 'Bullet list', settings: [] },
  blockquote: { title: 'Quote', settings: [] },
  codeBlock: { title: 'Code', settings: [] },
  button: {
    title: 'Button',
    settings: [
      href('https://, http:// or mailto:'),
      align,
      { name: 'background', label: 'Background', kind: 'color' },
      { name: 'color', label: 'Text color', kind: 'color' },
      { name: 'wide', label: 'Full width', kind: 'check' },
    ],
  },
  image: {
    title: 'Image',
    settings: [
      { name: 'src', label: 'Image', kind: 'image' },
      {
        name: 'alt',
        label: 'Alternative text',
        kind: 'line',
        hint: 'Shown when images are blocked, and read aloud. Leave it empty for decoration only.',
      },
      {
        name: 'width',
        label: 'Width (px)',
        kind: 'number',
        empty: null,
        hint: 'Empty: the full width.',
      },
      align,
      href(),
      {
        name: 'darkSrc',
        label: 'Image for dark mode',
        kind: 'image',
        hint: 'Such as a light logo. Optional.',
      },
    ],
  },
  divider: {
    title: 'Divider',
    settings: [
      { name: 'color', label: 'Color', kind: 'color' },
      { name: 'thickness', label: 'Thickness (px)', kind: 'number' },
    ],
  },
  spacer: { title: 'Spacer', settings: [{ name: 'height', label: 'Height (px)', kind: 'number' }] },
  social: { title: 'Social links', settings: [{ name: 'links', label: 'Links', kind: 'links' }, align] },
  columns: { title: 'Columns', settings: [] },
  column: {
    title: 'Column',
    settings: [{ name: 'share', label: 'Relative width', kind: 'number', hint: 'From 1 to 3.' }],
  },
  section: {
    title: 'Section',
    settings: [
      { name: 'background', label: 'Background', kind: 'color' },
      { name: 'padding', label: 'Padding (px)', kind: 'number' },
    ],
  },
  footer: {
    title: 'Footer',
    settings: [
      align,
      { name: 'unsubscribe', label: 'Text of the unsubscribe link', kind: 'line', hint: 'Empty: no link.' },
    ],
  },
  variable: {
    title: 'Variable',
    settings: [
      { name: 'key', label: 'Name', kind: 'line', hint: 'Such as contact.first_name.' },
      { name: 'fallback', label: 'Fallback', kind: 'line', hint: 'Used when there is no value.' },
    ],
  },
}
